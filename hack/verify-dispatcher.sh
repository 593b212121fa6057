#!/usr/bin/env bash
# Copyright 2026 The Toolgate Authors.
# SPDX-License-Identifier: Apache-2.0
#
# The data plane must not link Kubernetes, and its stripped binary stays under 25 MB.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
limit=$((25 * 1000 * 1000))
if found=$(CGO_ENABLED=0 go list -deps ./cmd/dispatcher | grep -E '^(k8s\.io|sigs\.k8s\.io/controller-runtime)'); then
  printf 'cmd/dispatcher links Kubernetes packages:\n%s\n' "$found" >&2
  exit 1
fi
binary=$(mktemp)
trap 'rm -f "$binary"' EXIT
CGO_ENABLED=0 go build -ldflags '-s -w' -o "$binary" ./cmd/dispatcher
size=$(stat -c %s "$binary")
echo "stripped dispatcher: $size bytes of $limit"
((size < limit)) || { echo "the dispatcher's binary is over its budget" >&2; exit 1; }
