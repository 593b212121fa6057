#!/usr/bin/env bash
# Copyright 2026 The Toolgate Authors.
# SPDX-License-Identifier: Apache-2.0
#
# in.sh COMMAND...: runs a command in the namespaces of the node.
set -euo pipefail
# shellcheck source=hack/k8s/env.sh
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"
# shellcheck source=hack/k8s/lib.sh
. "$K8S_DIR/lib.sh"
# shellcheck source=hack/k8s/node/life.sh
. "$K8S_DIR/node/life.sh"

(($#)) || fail "in.sh wants the command to run in the node"
init=$(node_init) || fail "the cluster is not running" "start it with hack/k8s/up.sh"
exec nsenter --target "$init" --mount --pid --net --uts --cgroup env PATH="$STATE_DIR/bin:$PATH" "$@"
