#!/usr/bin/env bash
# Copyright 2026 The Toolgate Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Settings of the development cluster, sourced by the other scripts. Sets
# variables and nothing else: it prints nothing, starts nothing, needs no tool
# but sed and cksum. Versions are read from the go.mod files beside it.
# shellcheck disable=SC2034 # the variables are for whoever sources this file

K8S_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# module_version FOLDER MODULE prints the version that FOLDER/go.mod requires.
module_version() {
	sed -nE "s#^(require)?[[:space:]]*$2 (v[^ ]+).*#\2#p" "$K8S_DIR/$1/go.mod"
}
KUBE_VERSION=$(module_version controlplane k8s.io/kubernetes)
CONTAINERD_VERSION=$(module_version runtime github.com/containerd/containerd/v2)
COREDNS_VERSION=$(module_version dns github.com/coredns/coredns)

# Binaries and images are kept across clones; the cluster's own state is one
# folder, gone after down.sh. Both lie outside the clone, so that every clone
# finds the same binaries and the same running cluster.
CACHE_DIR=${XDG_CACHE_HOME:-$HOME/.cache}/toolgate
STATE_DIR=${XDG_STATE_HOME:-$HOME/.local/state}/toolgate/cluster

CLUSTER_KUBECONFIG=$STATE_DIR/etc/admin.kubeconfig
# One JSON line for each create, update, patch and delete, at level Metadata.
AUDIT_LOG=$STATE_DIR/log/audit.log

# Addresses. Change them where these ranges are taken: up.sh says so.
HOST_IP=${TOOLGATE_HOST_IP:-10.89.0.1}
NODE_IP=${TOOLGATE_NODE_IP:-10.89.0.2}
NODE_NET=${HOST_IP%.*}.0/24
POD_CIDR=${TOOLGATE_POD_CIDR:-10.244.0.0/24}
SERVICE_CIDR=${TOOLGATE_SERVICE_CIDR:-10.96.0.0/16}
API_SERVICE_IP=${SERVICE_CIDR%.*}.1
DNS_IP=${SERVICE_CIDR%.*}.10

NODE_NAME=node1
HOST_LINK=toolgate0
CGROUP_NAME=toolgate-$(cksum <<<"$STATE_DIR" | cut -d ' ' -f 1)
PAUSE_IMAGE=toolgate.dev/cluster/pause:$KUBE_VERSION
COREDNS_IMAGE=toolgate.dev/cluster/coredns:$COREDNS_VERSION
