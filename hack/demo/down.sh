#!/usr/bin/env bash
# Copyright 2026 The Toolgate Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Takes the demo down: the whole cluster where it is ours, else the demo's objects.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=hack/demo/cluster.sh
source hack/demo/cluster.sh
if [[ $CLUSTER == current ]]; then
  kubectl delete namespace toolgate-demo --ignore-not-found
  kubectl delete -k config/default --ignore-not-found
else
  cluster_down
fi
