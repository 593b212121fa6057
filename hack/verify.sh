#!/usr/bin/env bash
# Copyright 2026 The Toolgate Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Ends with no diff: modules tidy, generated files current, code formatted and linted, links in the docs alive.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export GOFLAGS="-trimpath -buildvcs=false"
before=$(git status --porcelain; git diff)

step() { printf '\n=== %s\n' "$1"; }
step "modules are tidy"
while read -r mod; do
  (cd "$(dirname "$mod")" && go mod tidy -diff >/dev/null) || { echo "$mod is not tidy: run 'go mod tidy' in $(dirname "$mod")"; exit 1; }
done < <(git ls-files 'go.mod' '**/go.mod')
step "generated files are current"
hack/generate.sh
step "code is formatted"
go tool -modfile=hack/tools/go.mod golangci-lint fmt ./...
step "no large file is tracked"
hack/verify-sizes.sh
step "the packages of the manager are as their table says"
hack/verify-packages.sh
step "lint"
hack/lint.sh
step "the dispatcher is free of Kubernetes, and small"
hack/verify-dispatcher.sh
step "the installer can be made"
hack/installer.sh
step "links in the documents lead somewhere"
hack/verify-docs.sh

after=$(git status --porcelain; git diff)
if [[ "$before" != "$after" ]]; then
  git --no-pager diff --stat
  git status --short
  echo "verify changed files: commit the result of 'make generate fmt'" >&2
  exit 1
fi
printf '\nverify: clean\n'
