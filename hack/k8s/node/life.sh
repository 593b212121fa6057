#!/usr/bin/env bash
# Copyright 2026 The Toolgate Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Sourced: is the node alive, and how to end it leaving nothing behind.

INIT_FILE=$STATE_DIR/run/init

# start_time PID prints when it started, in clock ticks: with the number it
# tells a process apart from a later one of the same number.
start_time() { sed -E 's/^.*\) ([^ ]+ ){19}([0-9]+) .*$/\2/' "/proc/$1/stat" 2>/dev/null; }

# node_init prints the number of the node's process 1, and fails if it is gone.
node_init() {
	local pid started
	read -r pid started 2>/dev/null <"$INIT_FILE" || return 1
	[[ $(start_time "$pid") == "$started" ]] || return 1
	echo "$pid"
}

kubectl_admin() { "$STATE_DIR/bin/kubectl" --kubeconfig "$CLUSTER_KUBECONFIG" --cache-dir "$STATE_DIR/run/kubectl" "$@"; }

# remove_cgroups removes those of the pods, by the name that the node was started
# with. They empty as the kernel ends the last processes, so one may need a moment.
remove_cgroups() {
	local try left name
	name=$(sed -n 's/^declare -- CGROUP_NAME="\(.*\)"$/\1/p' "$STATE_DIR/etc/settings" 2>/dev/null || true)
	name=${name:-$CGROUP_NAME}
	for try in {1..50}; do
		left=$(find /sys/fs/cgroup -depth -type d \( -name "$name" -o -path "*/$name/*" \) 2>/dev/null || true)
		[[ -n $left ]] || return 0
		xargs rmdir 2>/dev/null <<<"$left" || sleep 0.1
	done
	say "warning: after $try tries these cgroups are still in use: $left"
}

# remove_node ends whatever there is of a node, whole or in pieces. The
# unreachable routes stay: a stray client must fail at once, not find its way
# to the network.
remove_node() {
	local pid folder
	if pid=$(node_init); then
		kill -KILL "$pid"
		# The kernel lets it go when all processes of its namespace have ended.
		while node_init >/dev/null; do sleep 0.05; done
		ip link delete "$HOST_LINK" 2>/dev/null || true
	fi
	remove_cgroups
	if [[ -f $STATE_DIR/run/made ]]; then
		while read -r folder; do rmdir "$folder" 2>/dev/null || true; done <"$STATE_DIR/run/made"
	fi
	rm -rf --one-file-system "$STATE_DIR"
}
