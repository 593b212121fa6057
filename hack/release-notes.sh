#!/usr/bin/env bash
# Copyright 2026 The Toolgate Authors.
# SPDX-License-Identifier: Apache-2.0
#
# release-notes.sh TAG prints what CHANGELOG.md says of a release: what stands below its heading, "## 1.2.3" or "## [1.2.3]",
# with a date after it if need be. It fails where there is nothing, so that no release goes out untold.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
tag=${1:?release-notes.sh TAG}
fail() { echo "$*" >&2; exit 1; }
[[ $tag =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]] || fail "$tag is no version: a release is tagged v1.2.3, or v1.2.3-rc.1"
notes=$(awk -v version="${tag#v}" '
  /^## / {heading = $2; gsub(/[][]/, "", heading); on = heading == version; next}
  on' "${CHANGELOG:-CHANGELOG.md}")
[[ $notes == *[![:space:]]* ]] || fail "CHANGELOG.md says nothing of $tag: it needs the heading '## ${tag#v} - $(date +%F)' with what changed below it"
printf '%s\n' "$notes"
