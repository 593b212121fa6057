#!/usr/bin/env bash
# Copyright 2026 The Toolgate Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Runs the tests of every row of docs/corpus.md, the faults of other proxies, and prints what became of each. Fails when a row
# fails, or has no test that ran.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export GOFLAGS="-trimpath -buildvcs=false"

echo "=== preparing: real MCP servers from npm (installed once, into the cache)"
TOOLGATE_NPM=$(hack/image/npm.sh | tail -n 1)
export TOOLGATE_NPM
echo "=== running the tests of every row; this takes some minutes"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
go test -tags corpus -count=1 -timeout 30m -v -run 'TestTable|TestRows|TestOperatorTables' ./test/corpus </dev/null | tee "$log" || status=$?
printf '=== rows: %d passed, %d failed\n' "$(grep -cE '^ +--- PASS: TestRows/G-' "$log" || true)" "$(grep -cE '^ +--- FAIL: TestRows/G-' "$log" || true)"
grep -qE '^ +--- PASS: TestRows/G-' "$log" || { echo "no row ran" >&2; exit 1; }
exit "$status"
