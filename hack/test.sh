#!/usr/bin/env bash
# Copyright 2026 The Toolgate Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Every test that needs no kubelet: the engines, the data plane with real npm servers, the controllers and the admission
# rules on a real API server, and the image builder, which is a module of its own. Installs what it needs into the cache folder.
# shellcheck source=hack/suite.sh
source "$(dirname "${BASH_SOURCE[0]}")/suite.sh"

start=$SECONDS
echo "=== preparing: the API server and etcd (built once, into the cache)"
KUBEBUILDER_ASSETS=$(hack/k8s/binaries.sh envtest | tail -n 1)
export KUBEBUILDER_ASSETS
echo "=== preparing: real MCP servers from npm (installed once, into the cache)"
TOOLGATE_NPM=$(hack/image/npm.sh | tail -n 1)
export TOOLGATE_NPM
echo "prepared in $((SECONDS - start)) s"

# A busy machine may take longer than the ten minutes that go test allows by itself.
suite engines -p 2 ./internal/jsonrpc/... ./internal/catalog/... ./internal/schema/... ./internal/rules/... ./internal/registry/... ./internal/render/...
suite data-plane -p 2 -timeout 30m ./internal/dispatcher/... ./internal/launcher/... ./cmd/dispatcher/... ./test/dataplane/... ./test/corpus/... ./test/soak/...
suite api -p 1 -timeout 30m ./api/... ./test/admission/...
suite controllers -p 1 -timeout 30m ./controllers/... ./cmd/manager/...
suite faults -p 1 -timeout 30m ./internal/testutil/... ./test/faults/...
printf '\n=== image builder\n'
go test -C hack/image ./... || broken+=("image builder")
finish
