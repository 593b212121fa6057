#!/usr/bin/env bash
# Copyright 2026 The Toolgate Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Takes the demo down: the whole cluster where it is ours, else the demo's objects and Toolgate, unless somebody else uses it there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=hack/demo/cluster.sh
source hack/demo/cluster.sh
if [[ $CLUSTER == current ]]; then
  kubectl delete namespace toolgate-demo --ignore-not-found
  others=0
  if [[ -n $(kubectl get crd mcpservers.mcp.toolgate.dev --ignore-not-found -o name) ]]; then
    others=$(kubectl get mcpservers,mcptools,rulesets --all-namespaces --ignore-not-found -o name | wc -l)
  fi
  if ((others > 0)); then
    echo "Toolgate stays: $others objects of its kinds are in other namespaces of this cluster, and would go with it." >&2
    echo "They are not the demo's. To take Toolgate away with all of them: kubectl delete -k config/default" >&2
    exit 1
  fi
  kubectl delete -k config/default --ignore-not-found
else
  cluster_down
fi
