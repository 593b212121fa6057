#!/usr/bin/env bash
# Copyright 2026 The Toolgate Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Lets real clients use real servers through the dispatcher (test/clients): the MCP Inspector and the TypeScript SDKs, before
# a dozen servers from npm. Installs them into the cache. Arguments go to go test.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export GOFLAGS="-trimpath -buildvcs=false"

echo "=== preparing: clients and servers from npm (installed once, into the cache)"
TOOLGATE_NPM=$(hack/image/npm.sh | tail -n 1)
TOOLGATE_CLIENTS=$(hack/image/npm.sh clients.txt conformance.txt | tail -n 1)
export TOOLGATE_NPM TOOLGATE_CLIENTS
echo "=== running; this takes some minutes"
go test -count=1 -timeout 30m -v ./test/clients "$@" </dev/null
