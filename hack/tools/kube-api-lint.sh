#!/usr/bin/env bash
# Copyright 2026 The Toolgate Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Holds the Go types of the API to the conventions of Kubernetes. What is let pass, and why: hack/tools/kube-api-linter.yaml
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
export GOFLAGS="-trimpath -buildvcs=false"
binary=$(mktemp)
trap 'rm -f "$binary"' EXIT
(cd hack/tools && go build -o "$binary" ./kubeapilint)
"$binary" hack/tools/kube-api-linter.yaml ./api/...
