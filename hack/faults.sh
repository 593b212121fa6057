#!/usr/bin/env bash
# Copyright 2026 The Toolgate Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Runs the sweeps of docs/faults.md: real managers on a real API server, with faults injected between them, and prints each
# sweep's figures in one line. FAULTS is small, medium or full (the default here, some hours); SEED replays a run; SWEEP runs
# those whose name matches, such as CrashPoints, and of its scenarios SCENARIO those whose name matches, and PART=2/9 the second of
# nine parts.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export GOFLAGS="-trimpath -buildvcs=false"

echo "=== preparing: the API server and etcd (built once, into the cache)"
KUBEBUILDER_ASSETS=$(hack/k8s/binaries.sh envtest | tail -n 1)
export KUBEBUILDER_ASSETS FAULTS="${FAULTS:-full}" SEED="${SEED:-$RANDOM}"
echo "=== faults: $FAULTS, seed $SEED"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
go test -count=1 -timeout 24h -v -run "Test${SWEEP:-}" ./test/faults </dev/null | tee "$log" || status=$?
echo "=== figures"
grep -E '^faults Test[^/]*: .* seed ' "$log" | sort -u || { echo "no sweep ran" >&2; exit 1; }
exit "$status"
