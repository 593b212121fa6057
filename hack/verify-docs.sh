#!/usr/bin/env bash
# Copyright 2026 The Toolgate Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Every relative link of every Markdown file names a file that exists (what stands in `code` is no link), docs/README.md lists
# every page of docs, and docs/errors.md has every reason that the dispatcher gives.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bad=0
# shellcheck disable=SC2016 # the backticks are Markdown's
code='s/`[^`]*`//g'
while read -r file; do
  while read -r link; do
    target=${link%%#*}
    [[ -z $target || $target =~ ^[a-z]+: ]] && continue
    if [[ ! -e "$(dirname "$file")/$target" ]]; then
      echo "$file links to $target, which does not exist"
      bad=1
    fi
  done < <(sed "$code" "$file" | grep -oE '\]\([^) ]+\)' | sed -E 's/^\]\((.*)\)$/\1/' || true)
done < <(git ls-files '*.md')
while read -r page; do
  if ! grep -qF "](${page#docs/})" docs/README.md; then
    echo "docs/README.md does not list $page"
    bad=1
  fi
done < <(git ls-files 'docs/*.md' ':!docs/README.md' ':!docs/design/*')
while read -r reason; do
  if ! grep -qw "$reason" docs/errors.md; then
    echo "docs/errors.md does not say what the reason $reason means"
    bad=1
  fi
done < <(git ls-files 'internal/dispatcher/*.go' | grep -v -e _test.go -e /dispatchertest/ | xargs cat | grep -oE '(Reason: |Refuse\()"[A-Za-z]+"' | cut -d '"' -f 2 | sort -u)
exit $bad
