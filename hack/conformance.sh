#!/usr/bin/env bash
# Copyright 2026 The Toolgate Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Runs the official conformance suite of MCP through the dispatcher, as server and as client, and prints the totals of each
# run. Installs the suite into the cache. Results are in bin/conformance. Arguments go to go test, such as -run TestServer.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export GOFLAGS="-trimpath -buildvcs=false"

echo "=== preparing: the suite and Node.js 22 from npm (installed once, into the cache)"
TOOLGATE_CONFORMANCE=$(hack/image/npm.sh conformance.txt | tail -n 1)
export TOOLGATE_CONFORMANCE
echo "=== running the suite; this takes about a minute"
status=0
go test -count=1 -v ./test/conformance "$@" </dev/null || status=$?
echo "=== totals (details in bin/conformance)"
cat bin/conformance/summary.txt
exit "$status"
