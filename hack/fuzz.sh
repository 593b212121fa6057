#!/usr/bin/env bash
# Copyright 2026 The Toolgate Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Runs every native fuzz target for FUZZTIME each.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
grep -rlE '^func Fuzz' --include='*_test.go' internal | sort | while read -r file; do
  package=./$(dirname "$file")
  grep -oE '^func Fuzz[A-Za-z0-9]+' "$file" | awk '{print $2}' | while read -r target; do
    echo "=== $package $target"
    go test -run '^$' -fuzz "^$target\$" -fuzztime "${FUZZTIME:-20s}" "$package"
  done
done
