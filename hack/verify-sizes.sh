#!/usr/bin/env bash
# Copyright 2026 The Toolgate Authors.
# SPDX-License-Identifier: Apache-2.0
#
# No tracked file is larger than 1 MiB: what is built, and data of others, belongs into the cache.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
limit=$((1 << 20))
# An object's size in the index is that of the file as it would be committed.
large=$(git ls-files -s | cut -f 1 | awk '{print $2}' | git cat-file --batch-check='%(objectsize) %(objectname)' |
  awk -v limit="$limit" '$1 > limit {print $2}')
[[ -z $large ]] && exit 0
echo "tracked files over $limit bytes: git rm --cached them, and add them to .gitignore" >&2
git ls-files -s | grep -F "$large" | cut -f 2 >&2
exit 1
