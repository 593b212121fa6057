#!/usr/bin/env bash
# Copyright 2026 The Toolgate Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Generates deep copies, CRDs, roles, admission policies and the API reference from the Go types.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export GOFLAGS="-trimpath -buildvcs=false"
tool() { go tool -modfile=hack/tools/go.mod "$@"; }
echo "controller-gen: deep copies"
tool controller-gen object:headerFile=hack/boilerplate.go.txt paths=./api/...
echo "controller-gen: CRDs"
tool controller-gen crd:generateEmbeddedObjectMeta=false paths=./api/... output:crd:dir=config/crd/bases
for crd in config/crd/bases/*.yaml; do hack/shorten-crd.sh "$crd"; done
echo "controller-gen: roles"
tool controller-gen rbac:roleName=toolgate-manager paths=./controllers/... output:rbac:dir=config/rbac
sed 's/^kind: ClusterRole$/kind: Role/' config/rbac/role.yaml >config/namespaced/watched/role.yaml
echo "policies: config/admission"
go run ./hack/policies
echo "crd-ref-docs: docs/api.md"
tool crd-ref-docs --source-path=api/v1alpha1 --config=hack/tools/crd-ref-docs.yaml --renderer=markdown --output-path=docs/api.md
