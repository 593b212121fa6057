#!/usr/bin/env bash
# Copyright 2026 The Toolgate Authors.
# SPDX-License-Identifier: Apache-2.0
#
# npm.sh [LIST...] installs the npm packages of the lists, which are servers.txt
# and test-servers.txt unless others are named, by their locks into the cache,
# unless they are there, without running scripts of packages. Prints a folder
# that holds NAME/node_modules for each; progress goes to stderr.
set -euo pipefail
IMAGE_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=hack/k8s/env.sh
. "$IMAGE_DIR/../k8s/env.sh"
# shellcheck source=hack/k8s/lib.sh
. "$K8S_DIR/lib.sh"
trap end_step EXIT

cd "$IMAGE_DIR"
lists=("$@")
[[ $# -gt 0 ]] || lists=(servers.txt test-servers.txt)
mapfile -t locks < <(grep -hv '^#' "${lists[@]}" | sed -E 's#^([^ ]+) .*#locks/\1.json#')
key=$(cat "${lists[@]}" "${locks[@]}" npm.sh | sha256sum | cut -c1-12)
folder=$CACHE_DIR/npm/servers-$key
[[ ! -d $folder ]] || { echo "$folder" && exit; }
command -v npm >/dev/null || fail "npm is missing" "install Node.js 20 or later with npm"

hold_lock "$CACHE_DIR/npm/servers.lock" "installing MCP servers"
[[ ! -d $folder ]] || { echo "$folder" && exit; }
partial=$CACHE_DIR/npm/servers-partial
rm -rf "$partial" # of one that was broken off; nobody else is at it
while read -r name package version; do
	mkdir -p "$partial/$name"
	echo "{\"private\": true, \"dependencies\": {\"$package\": \"$version\"}}" >"$partial/$name/package.json"
	cp "locks/$name.json" "$partial/$name/package-lock.json"
	step "$package@$version" "$partial/$name/log" npm ci --prefix "$partial/$name" \
		--ignore-scripts --omit=dev --no-audit --no-fund --loglevel=error
done < <(grep -hv '^#' "${lists[@]}")
mv "$partial" "$folder"
echo "$folder"
