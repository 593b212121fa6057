#!/usr/bin/env bash
# Copyright 2026 The Toolgate Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Measures the dispatcher beside its server alone and beside other proxies, in
# one run; docs/benchmarks.md says how. BENCH=full takes all combinations;
# ONLY=regexp measures some targets; PEERS=none leaves the proxies from npm out;
# PROFILE=1 profiles the dispatchers under one load instead.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

bin=bin/bench
mkdir -p "$bin"
# As releases are built.
go build -p 2 ${PROFILE:+-tags profile} -ldflags "-s -w -X main.version=$(git describe --tags --always --dirty 2>/dev/null || echo dev)" -o "$bin/" ./cmd/dispatcher
go build -p 2 -o "$bin/" ./test/bench
flags=(--dispatcher "$PWD/$bin/dispatcher" --out "$bin" --only "${ONLY:-}")
if [[ ${PEERS:-} != none ]]; then
	peers=$(hack/image/npm.sh bench-peers.txt | tail -n 1)
	flags+=(--peers "$peers")
fi
[[ -z ${PROFILE:-} ]] || flags+=(--profile)
[[ ${BENCH:-} != full ]] || flags+=(--full)
exec "$bin/bench" "${flags[@]}"
