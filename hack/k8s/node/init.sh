#!/usr/bin/env bash
# Copyright 2026 The Toolgate Authors.
# SPDX-License-Identifier: Apache-2.0
#
# init.sh: process 1 of the node. up.sh starts it in new network, mount, pid,
# uts and (on cgroup v1) cgroup namespaces. It dresses them as a machine and
# keeps the node's programs running. When it is killed, the kernel ends every
# process of the node and with them the namespaces, mounts and links.
set -euo pipefail
STATE_DIR=$1
# shellcheck source=/dev/null
. "$STATE_DIR/etc/settings"
BIN=$STATE_DIR/bin ETC=$STATE_DIR/etc PKI=$STATE_DIR/etc/pki
export PATH=$BIN:$PATH

# up.sh writes a line when it has recorded this process and given it a network.
# Without one it has died, and nothing may be left behind.
exec 3<>"$STATE_DIR/run/gate"
read -r -t 30 -u 3
exec 3>&-

mount_cgroups_v1() {
	local id controllers options name
	# The cgroup namespace makes every hierarchy begin at our own cgroup, so
	# that all have the same paths, as the kubelet wants.
	mount -t tmpfs -o mode=755 cgroup /sys/fs/cgroup
	while IFS=: read -r id controllers _; do
		[[ -n $controllers && $id != 0 ]] || continue
		options=$controllers
		[[ $controllers != name=* ]] || options=none,$controllers
		controllers=${controllers#name=}
		mkdir "/sys/fs/cgroup/$controllers"
		mount -t cgroup -o "$options" cgroup "/sys/fs/cgroup/$controllers"
		[[ $controllers != *,* ]] || for name in ${controllers//,/ }; do ln -s "$controllers" "/sys/fs/cgroup/$name"; done
		mkdir -p "/sys/fs/cgroup/$controllers/$CGROUP_NAME"
	done </proc/self/cgroup
}

mount_cgroups_v2() {
	local folder
	mount -t cgroup2 cgroup2 /sys/fs/cgroup
	mkdir -p "/sys/fs/cgroup/$CGROUP_NAME"
	for folder in /sys/fs/cgroup "/sys/fs/cgroup/$CGROUP_NAME"; do
		echo "+cpu +cpuset +memory +pids" >"$folder/cgroup.subtree_control"
	done
}

dress_filesystem() {
	local folder
	umount -R /sys/fs/cgroup 2>/dev/null || umount -l /sys/fs/cgroup
	umount -R /sys 2>/dev/null || umount -l /sys
	mount -t sysfs sysfs /sys
	if [[ $CGROUP_VERSION == 1 ]]; then mount_cgroups_v1; else mount_cgroups_v2; fi
	mount -t tmpfs tmpfs /run
	for folder in "${NODE_FOLDERS[@]}"; do
		mkdir -p "$STATE_DIR/data$folder"
		mount --bind "$STATE_DIR/data$folder" "$folder"
	done
	mount --make-rshared /
}

# No default route: nothing that a pod sends can leave this machine.
dress_network() {
	ip link set lo up
	ip addr add "$NODE_IP/24" dev eth0
	ip link set eth0 up
	ip route add "$SERVICE_CIDR" via "$HOST_IP"
	echo 1 >/proc/sys/net/ipv4/ip_forward
	echo 1 >/proc/sys/net/bridge/bridge-nf-call-iptables
}

# keep NAME COMMAND... runs COMMAND, again whenever it ends, with a log.
keep() {
	local name=$1
	shift
	while :; do
		"$@" >>"$STATE_DIR/log/$name.log" 2>&1 || true
		echo "$name ended; starting it again" >>"$STATE_DIR/log/$name.log"
		sleep 1
	done &
}

start_control_plane() {
	local etcd=http://127.0.0.1:2379 peer=http://127.0.0.1:2380 issuer=https://kubernetes.default.svc.cluster.local
	# State ends with the cluster, so etcd need not wait for the disk.
	keep etcd etcd --name node --data-dir "$STATE_DIR/data/etcd" --unsafe-no-fsync \
		--listen-client-urls $etcd --advertise-client-urls $etcd \
		--listen-peer-urls $peer --initial-advertise-peer-urls $peer --initial-cluster node=$peer
	keep kube-apiserver kube-apiserver --etcd-servers=$etcd --advertise-address="$NODE_IP" --secure-port=6443 \
		--cert-dir=/run/kube-apiserver --tls-cert-file="$PKI/apiserver.crt" --tls-private-key-file="$PKI/apiserver.key" \
		--client-ca-file="$PKI/ca.crt" --authorization-mode=Node,RBAC --enable-admission-plugins=NodeRestriction --allow-privileged=true \
		--kubelet-client-certificate="$PKI/kubelet-client.crt" --kubelet-client-key="$PKI/kubelet-client.key" \
		--kubelet-certificate-authority="$PKI/ca.crt" --kubelet-preferred-address-types=InternalIP \
		--service-cluster-ip-range="$SERVICE_CIDR" --service-account-issuer=$issuer \
		--service-account-signing-key-file="$PKI/service-account.key" --service-account-key-file="$PKI/service-account.pub" \
		--requestheader-client-ca-file="$PKI/front-proxy-ca.crt" --requestheader-allowed-names=front-proxy-client \
		--requestheader-username-headers=X-Remote-User --requestheader-group-headers=X-Remote-Group \
		--requestheader-extra-headers-prefix=X-Remote-Extra- \
		--proxy-client-cert-file="$PKI/front-proxy-client.crt" --proxy-client-key-file="$PKI/front-proxy-client.key" \
		--audit-policy-file="$ETC/audit-policy.yaml" --audit-log-path="$STATE_DIR/log/audit.log" --audit-log-maxsize=100 --audit-log-maxbackup=2
}

start_controllers() {
	local config
	config=$ETC/controller-manager.kubeconfig
	keep kube-controller-manager kube-controller-manager --bind-address=127.0.0.1 --leader-elect=false \
		--kubeconfig="$config" --authentication-kubeconfig="$config" --authorization-kubeconfig="$config" \
		--use-service-account-credentials=true --service-account-private-key-file="$PKI/service-account.key" \
		--root-ca-file="$PKI/ca.crt" --cluster-signing-cert-file="$PKI/ca.crt" --cluster-signing-key-file="$PKI/ca.key" \
		--cluster-cidr="$POD_CIDR" --allocate-node-cidrs=false
	config=$ETC/scheduler.kubeconfig
	keep kube-scheduler kube-scheduler --bind-address=127.0.0.1 --leader-elect=false \
		--kubeconfig="$config" --authentication-kubeconfig="$config" --authorization-kubeconfig="$config"
}

start_node() {
	# The kubelet's mounts must reach containerd's namespace: volumes are mounts.
	keep kubelet unshare --mount --propagation unchanged "$STATE_DIR/node/kubelet.sh" kubelet --config="$ETC/kubelet.yaml" \
		--kubeconfig="$ETC/kubelet.kubeconfig" --hostname-override="$NODE_NAME" --node-ip="$NODE_IP" --cert-dir=/run/kubelet
	keep kube-proxy kube-proxy --config="$ETC/proxy.yaml"
	# It ends while its Node is not registered yet, and is started again.
	keep netpol netpol --kubeconfig="$ETC/admin.kubeconfig" --node="$NODE_NAME" --service-cidr="$SERVICE_CIDR"
}

import_images() {
	local archive
	until [[ -S /run/containerd/containerd.sock ]]; do sleep 0.05; done
	for archive in "$STATE_DIR"/run/images/*.tar; do ctr -n k8s.io images import --local "$archive"; done
}

hostname "$NODE_NAME"
dress_filesystem
dress_network
start_control_plane
keep containerd containerd --config "$ETC/containerd.toml"
import_images
until kubectl --kubeconfig "$ETC/admin.kubeconfig" --cache-dir=/run/kubectl get --raw /readyz >/dev/null 2>&1; do sleep 0.1; done
start_controllers
start_node
# The shell collects every ended process whose parent is gone.
while :; do wait; done
