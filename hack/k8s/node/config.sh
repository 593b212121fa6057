#!/usr/bin/env bash
# Copyright 2026 The Toolgate Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Sourced by up.sh: writes the configuration of the node's programs.

write_config() {
	local etc=$STATE_DIR/etc
	mkdir -p "$etc/cni"
	echo "nameserver 127.0.0.1" >"$etc/resolv.conf"

	# The machine may lack CAP_SYS_RESOURCE: no negative OOM scores.
	cat >"$etc/containerd.toml" <<-T
		version = 3
		root = "$STATE_DIR/data/containerd"
		disabled_plugins = ["io.containerd.internal.v1.opt", "io.containerd.nri.v1.nri"]
		[plugins.'io.containerd.cri.v1.images']
		  snapshotter = "overlayfs"
		  [plugins.'io.containerd.cri.v1.images'.pinned_images]
		    sandbox = "$PAUSE_IMAGE"
		[plugins.'io.containerd.cri.v1.runtime']
		  restrict_oom_score_adj = true
		  disable_apparmor = true
		  [plugins.'io.containerd.cri.v1.runtime'.cni]
		    bin_dirs = ["/usr/lib/cni"]
		    conf_dir = "$etc/cni"
		  [plugins.'io.containerd.cri.v1.runtime'.containerd]
		    default_runtime_name = "runc"
		    [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
		      runtime_type = "io.containerd.runc.v2"
		      [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
		        BinaryName = "$STATE_DIR/bin/runc"
		        SystemdCgroup = false
	T

	cat >"$etc/cni/10-pods.conflist" <<-J
		{"cniVersion": "1.0.0", "name": "pods", "plugins": [
		  {"type": "bridge", "bridge": "cni0", "isGateway": true, "ipMasq": false, "hairpinMode": true,
		   "ipam": {"type": "host-local", "dataDir": "/run/cni-ipam", "ranges": [[{"subnet": "$POD_CIDR"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
		  {"type": "portmap", "capabilities": {"portMappings": true}}]}
	J

	# failCgroupV1 is validation only: cgroup v1 still works in this version.
	# With the feature gate, the kubelet reads a pod's own CPU request back from
	# cgroup v1 as a whole core, and the scheduler finds the node full.
	# Images come from archives alone, so the kubelet must never collect them.
	cat >"$etc/kubelet.yaml" <<-Y
		apiVersion: kubelet.config.k8s.io/v1beta1
		kind: KubeletConfiguration
		failCgroupV1: false
		featureGates: {InPlacePodLevelResourcesVerticalScaling: false}
		cgroupDriver: cgroupfs
		cgroupRoot: /$CGROUP_NAME
		containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
		authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: $PKI/ca.crt}}
		authorization: {mode: Webhook}
		tlsCertFile: $PKI/kubelet-server.crt
		tlsPrivateKeyFile: $PKI/kubelet-server.key
		clusterDomain: cluster.local
		clusterDNS: ["$DNS_IP"]
		resolvConf: $etc/resolv.conf
		podCIDR: $POD_CIDR
		failSwapOn: false
		oomScoreAdj: 0
		maxOpenFiles: 20000
		configMapAndSecretChangeDetectionStrategy: Watch
		evictionHard: {memory.available: 100Mi, nodefs.available: 1%, imagefs.available: 1%}
		imageGCHighThresholdPercent: 100
		imageGCLowThresholdPercent: 99
		nodeStatusUpdateFrequency: 4s
	Y

	# The zeros leave the machine's conntrack settings as they are.
	cat >"$etc/proxy.yaml" <<-Y
		apiVersion: kubeproxy.config.k8s.io/v1alpha1
		kind: KubeProxyConfiguration
		mode: nftables
		clusterCIDR: $POD_CIDR
		hostnameOverride: $NODE_NAME
		oomScoreAdj: 0
		clientConnection: {kubeconfig: $etc/proxy.kubeconfig}
		conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
	Y

	cat >"$etc/audit-policy.yaml" <<-Y
		apiVersion: audit.k8s.io/v1
		kind: Policy
		omitStages: [RequestReceived]
		rules:
		- {level: Metadata, verbs: [create, update, patch, delete, deletecollection]}
		- {level: None}
	Y
}
