#!/usr/bin/env bash
# Copyright 2026 The Toolgate Authors.
# SPDX-License-Identifier: Apache-2.0
#
# load.sh ARCHIVE...: imports image archives into the node. One whose name and
# digest the node has already is skipped.
set -euo pipefail
# shellcheck source=hack/k8s/env.sh
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"
# shellcheck source=hack/k8s/lib.sh
. "$K8S_DIR/lib.sh"
# shellcheck source=hack/k8s/node/life.sh
. "$K8S_DIR/node/life.sh"

# containerd has already said in its log what it thinks of cgroup v1.
node_ctr() { "$K8S_DIR/in.sh" env CONTAINERD_SUPPRESS_DEPRECATION_WARNINGS=true ctr --namespace k8s.io "$@"; }

# reference ARCHIVE prints "NAME DIGEST" of an archive of hack/image, whose
# index comes first; nothing for one made elsewhere.
reference() {
	local index
	index=$(tar -xOf "$1" --occurrence=1 index.json 2>/dev/null) || return 0
	sed -nE 's/.*"digest":"([^"]+)".*"io.containerd.image.name":"([^"]+)".*/\2 \1/p' <<<"$index"
}

load() {
	local start name digest
	start=$(now)
	read -r name digest < <(reference "$1") || true
	if [[ -n $name ]] && node_ctr images list "name==$name" | grep -qF " $digest "; then
		say "$name is loaded already"
		return
	fi
	# Through a pipe, since the node sees its own /run and may not see the file.
	node_ctr images import --local - <"$1" >/dev/null
	say "${name:-$1} loaded in $(seconds_since "$start") s"
}

(($#)) || fail "load.sh wants the archives to load"
node_init >/dev/null || fail "the cluster is not running" "start it with hack/k8s/up.sh"
for archive in "$@"; do
	[[ -f $archive ]] || fail "no such archive: $archive"
	load "$archive"
done
