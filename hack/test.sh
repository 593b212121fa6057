#!/usr/bin/env bash
# Copyright 2026 The Toolgate Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Every test that needs no kubelet: the engines, the data plane with real npm servers, the controllers and the admission
# rules on a real API server, and the image builder, which is a module of its own. Installs what it needs into the cache folder.
# shellcheck source=hack/suite.sh
source "$(dirname "${BASH_SOURCE[0]}")/suite.sh"

engines=(./internal/jsonrpc/... ./internal/mcp/... ./internal/catalog/... ./internal/schema/... ./internal/rules/... ./internal/registry/... ./internal/render/...)
data_plane=(./internal/dispatcher/... ./internal/launcher/... ./cmd/dispatcher/... ./test/dataplane/... ./test/corpus/... ./test/soak/...)
api=(./api/... ./internal/loosening/... ./test/admission/...)
controllers=(./controllers/... ./cmd/manager/...)
faults=(./internal/testutil/... ./test/faults/...)
# They have commands of their own: make clients, make conformance and make e2e.
elsewhere=(./test/clients/... ./test/conformance/... ./test/e2e/...)
nothing_left_out "${engines[@]}" "${data_plane[@]}" "${api[@]}" "${controllers[@]}" "${faults[@]}" "${elsewhere[@]}"

start=$SECONDS
echo "=== preparing: the API server and etcd (built once, into the cache)"
KUBEBUILDER_ASSETS=$(hack/k8s/binaries.sh envtest | tail -n 1)
export KUBEBUILDER_ASSETS
echo "=== preparing: real MCP servers from npm (installed once, into the cache)"
TOOLGATE_NPM=$(hack/image/npm.sh | tail -n 1)
export TOOLGATE_NPM
echo "prepared in $((SECONDS - start)) s"

# A busy machine may take longer than the ten minutes that go test allows by itself.
suite engines -p 2 "${engines[@]}"
suite data-plane -p 2 -timeout 30m "${data_plane[@]}"
suite api -p 1 -timeout 30m "${api[@]}"
suite controllers -p 1 -timeout 30m "${controllers[@]}"
suite faults -p 1 -timeout 30m "${faults[@]}"
printf '\n=== image builder\n'
go test -C hack/image ./... || broken+=("image builder")
finish
