#!/usr/bin/env bash
# Copyright 2026 The Toolgate Authors.
# SPDX-License-Identifier: Apache-2.0
#
# The tests that need a kubelet, on a cluster that is started for them and taken down afterwards. CLUSTER=current uses the
# current kube context instead; KEEP=1 leaves the cluster running.
# shellcheck source=hack/suite.sh
source "$(dirname "${BASH_SOURCE[0]}")/suite.sh"
# shellcheck source=hack/demo/cluster.sh
source hack/demo/cluster.sh

cluster_up
trap 'rm -rf "$results"; [[ -n "${KEEP:-}" ]] || cluster_down' EXIT
install_toolgate

# In the node's own network every Service and pod can be reached, and nothing else can.
inside=()
if [[ $CLUSTER == local ]]; then
  # shellcheck source=hack/k8s/node/life.sh
  source hack/k8s/node/life.sh
  inside=(-exec "nsenter --target $(node_init) --net")
  export TOOLGATE_AUDIT_LOG=$AUDIT_LOG
fi
# A spec on real pods may meet a machine that was busy elsewhere: it gets a second try, and the summary says that it flaked.
SUITE_FORMAT=standard-verbose suite e2e -p 1 -count 1 -timeout 60m -tags e2e "${inside[@]}" ./test/e2e/... \
  -ginkgo.v -ginkgo.flake-attempts=2
finish
