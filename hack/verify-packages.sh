#!/usr/bin/env bash
# Copyright 2026 The Toolgate Authors.
# SPDX-License-Identifier: Apache-2.0
#
# The table of packages in controllers/doc.go has a row for each folder below controllers and no other row, and what must not
# be imported there is in depguard's rules.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export LC_ALL=C
bad=0
say() { echo "$*" >&2; bad=1; }

rows=$(awk '/^\/\/\tpackage +owns/ {on = 1; next} on && !/^\/\/\t/ {exit} on {print $2}' controllers/doc.go)
folders=$(find controllers -mindepth 2 -name '*.go' -printf '%h\n' | sed 's#^controllers/##' | sort -u)
for folder in $folders; do
  grep -qxF "$folder" <<<"$rows" || say "controllers/$folder has no row in the table of controllers/doc.go: say what it owns, and what it must not import"
done
for row in $rows; do
  grep -qxF "$row" <<<"$folders" || say "controllers/doc.go has a row for $row, which is no folder below controllers"
  grep -qE "^//	$row +.* nothing: " controllers/doc.go && continue
  grep -qF "\"**/controllers/${row%%/*}/**\"" .golangci.yml || say "no rule of depguard in .golangci.yml names controllers/${row%%/*}, which must not import what controllers/doc.go says"
done
[[ $(sort <<<"$rows") == "$rows" ]] || say "the rows of the table in controllers/doc.go are not sorted"
exit $bad
