#!/usr/bin/env bash
# Copyright 2026 The Toolgate Authors.
# SPDX-License-Identifier: Apache-2.0
#
# down.sh: ends the development cluster and removes all of it: processes,
# cgroups, mounts, links and state. Binaries and images stay in the cache.
set -euo pipefail
# shellcheck source=hack/k8s/env.sh
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"
# shellcheck source=hack/k8s/lib.sh
. "$K8S_DIR/lib.sh"
# shellcheck source=hack/k8s/node/life.sh
. "$K8S_DIR/node/life.sh"

[[ $(id -u) == 0 ]] || fail "only root can stop the cluster" "run it with sudo, or in a root shell"
begun=$(now)
hold_lock "$CACHE_DIR/cluster.lock" "starting or stopping the cluster"
remove_node
rmdir "$(dirname "$STATE_DIR")" 2>/dev/null || true
say "The cluster is down after $(seconds_since "$begun") s; nothing of it is left but the binaries in $CACHE_DIR."
