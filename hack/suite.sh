#!/usr/bin/env bash
# Copyright 2026 The Toolgate Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Runs suites of tests, prints each one's real totals, and fails when a suite fails or runs no test. Sourced by hack/test.sh
# and hack/e2e.sh.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export GOFLAGS="-trimpath -buildvcs=false"

results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
total_passed=0 total_failed=0 total_skipped=0
broken=()

# gotestsum from the tools module, built once.
gotestsum() { go tool -modfile=hack/tools/go.mod gotestsum "$@"; }

# nothing_left_out PATTERN... fails when a package that has tests, under whatever tag, is in none of the patterns. Their packages
# are listed by go itself, so that a pattern means here what it means to go test.
nothing_left_out() {
  local all listed package left=0
  all=$(tested ./...)
  listed=$(tested "$@")
  for package in $all; do
    grep -qxF "$package" <<<"$listed" && continue
    echo "$package has tests that no suite runs: add it to one, or to those that run elsewhere, in hack/test.sh" >&2
    left=1
  done
  return $left
}

# tested PATTERN... lists the packages that have tests.
tested() { go list -tags e2e,corpus -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' "$@"; }

# suite NAME ARGUMENTS-OF-GO-TEST... runs one suite. Ginkgo's specs are counted beside Go's tests, as Ginkgo reports them.
suite() {
  local name=$1 log="$results/$1.json" start=$SECONDS status=0
  shift
  printf '\n=== %s\n' "$name"
  gotestsum --format "${SUITE_FORMAT:-pkgname}" --format-hide-empty-pkg --jsonfile "$log" -- "$@" || status=$?
  local passed failed skipped specs
  passed=$(count pass "$log") failed=$(count fail "$log") skipped=$(count skip "$log")
  specs=$(grep -oE 'Ran [0-9]+ of [0-9]+ Specs' "$log" | awk '{n += $2} END {print n + 0}' || true)
  printf '%s: %d passed, %d failed, %d skipped' "$name" "$passed" "$failed" "$skipped"
  if ((specs > 0)); then printf ' (%d of the passed or failed are Ginkgo suites with %d specs)' \
    "$(grep -cE 'Ran [0-9]+ of [0-9]+ Specs' "$log")" "$specs"; fi
  printf ', %d s\n' $((SECONDS - start))
  total_passed=$((total_passed + passed)) total_failed=$((total_failed + failed)) total_skipped=$((total_skipped + skipped))
  if ((status != 0)); then broken+=("$name"); fi
  if ((passed + failed == 0)); then
    echo "suite $name ran no test: a package moved, or a build tag is wrong"
    broken+=("$name (no test)")
  fi
}

count() { grep -cE "\"Action\":\"$1\".*\"Test\":" "$2" || true; }

# finish prints the totals of all suites and gives the exit code.
finish() {
  printf '\n%d passed, %d failed, %d skipped\n' "$total_passed" "$total_failed" "$total_skipped"
  if ((${#broken[@]} > 0)); then
    printf 'failed suites: %s\n' "${broken[*]}" >&2
    return 1
  fi
}
