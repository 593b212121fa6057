#!/usr/bin/env bash
# Copyright 2026 The Toolgate Authors.
# SPDX-License-Identifier: Apache-2.0
#
# golangci-lint over the code (style, budgets, the dependency rule), kube-api-linter over api/, shellcheck over the scripts.
# Without shellcheck it fails where CI is set (.ci/run sets it), and says so elsewhere.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export GOFLAGS="-trimpath -buildvcs=false"
echo "golangci-lint"
go tool -modfile=hack/tools/go.mod golangci-lint run --timeout 20m ./...
echo "kube-api-linter"
hack/tools/kube-api-lint.sh
if command -v shellcheck >/dev/null; then
  echo "shellcheck"
  git ls-files -z '*.sh' .ci/run | xargs -0 shellcheck -x
elif [[ -n ${CI:-} ]]; then
  echo "shellcheck is not installed, and the gate does not pass without it: apt-get install shellcheck" >&2
  exit 1
else
  echo "shellcheck is not installed: the scripts were not looked at (apt-get install shellcheck)" >&2
fi
