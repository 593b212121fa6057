#!/usr/bin/env bash
# Copyright 2026 The Toolgate Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Takes the descriptions out of the inner fields of Kubernetes' own large types in a CRD, which `kubectl explain pod.spec` has
# as well: with them the CRD of MCPServer would be too large for client-side apply. The field itself keeps its text.
set -euo pipefail
awk '
  { match($0, /^ */); indent = RLENGTH }
  skipping && (indent > skip || /^ *$/) { next }
  { skipping = 0 }
  within && indent <= within_indent { within = 0 }
  !within && /^ +(affinity|topologySpreadConstraints|namespaceSelector|podSelector):$/ { within = 1; within_indent = indent }
  within && indent > within_indent + 2 && /^ +description:/ { skipping = 1; skip = indent; next }
  { print }
' "$1" >"$1.short"
mv "$1.short" "$1"
