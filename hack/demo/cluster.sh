#!/usr/bin/env bash
# Copyright 2026 The Toolgate Authors.
# SPDX-License-Identifier: Apache-2.0
#
# The cluster that demo and e2e run on, and Toolgate on it. Sourced, from the root of the repository.
# CLUSTER=local (default) is the one-node cluster of hack/k8s; CLUSTER=current is the current kube context, whose nodes must
# be able to pull the images that IMAGE and the samples name.
set -euo pipefail

CLUSTER=${CLUSTER:-local}
if [[ $CLUSTER == local ]]; then
  # shellcheck source=hack/k8s/env.sh
  source hack/k8s/env.sh
  export KUBECONFIG=$CLUSTER_KUBECONFIG
fi

# timed WHAT COMMAND... says how long a step took.
timed() {
  local what=$1 start=$SECONDS
  shift
  "$@"
  printf -- '-- %s: %d s\n' "$what" $((SECONDS - start))
}

cluster_up() {
  case $CLUSTER in
    local)
      timed "cluster" hack/k8s/up.sh
      PATH=$(hack/k8s/binaries.sh cluster 2>/dev/null):$PATH
      export PATH
      ;;
    current) kubectl version >/dev/null || { echo "CLUSTER=current: kubectl reaches no cluster; set a context, or leave CLUSTER out" >&2; return 1; } ;;
    *) echo "CLUSTER is '$CLUSTER': it can be local or current" >&2; return 1 ;;
  esac
}

cluster_down() {
  [[ $CLUSTER == current ]] || hack/k8s/down.sh
}

# install_toolgate builds the image, brings it and the demo servers' images to the node, and applies config/default.
install_toolgate() {
  timed "build" make build
  if [[ $CLUSTER == local ]]; then
    timed "images" build_images
    timed "import" hack/k8s/load.sh "${archives[@]}"
  fi
  timed "toolgate" apply_toolgate
}

build_images() {
  mapfile -t archives < <(hack/image/build.sh toolgate bin && hack/image/build.sh demo)
}

apply_toolgate() {
  kubectl apply --server-side --force-conflicts -k config/default >/dev/null
  kubectl -n toolgate-system rollout restart deployment/toolgate-manager >/dev/null
  kubectl -n toolgate-system rollout status deployment/toolgate-manager --timeout=120s
}
