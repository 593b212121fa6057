#!/usr/bin/env bash
# Copyright 2026 The Toolgate Authors.
# SPDX-License-Identifier: Apache-2.0
#
# up.sh: starts the development cluster, builds and installs what is missing
# for it, and waits until pods, DNS and NetworkPolicies work. Run it again at
# any time: a running cluster is kept, the rest of a dead one is cleared away.
set -euo pipefail
# shellcheck source=hack/k8s/env.sh
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"
# shellcheck source=hack/k8s/lib.sh
. "$K8S_DIR/lib.sh"
# shellcheck source=hack/k8s/node/life.sh
. "$K8S_DIR/node/life.sh"
# shellcheck source=hack/k8s/node/pki.sh
. "$K8S_DIR/node/pki.sh"
# shellcheck source=hack/k8s/node/config.sh
. "$K8S_DIR/node/config.sh"

# Folders of the machine that the kubelet and the CNI plugins write to whatever
# they are told: the node sees its own folders there.
NODE_FOLDERS=(/var/lib/kubelet /var/lib/cni /var/log/pods /var/log/containers)

# part NAME FUNCTION... runs one part in this shell and says how long it took.
part() {
	local name=$1 start
	shift
	start=$(now)
	"$@"
	say "$name: $(seconds_since "$start") s"
}

# block_routes keeps packets for the cluster on this machine, whether it is up
# or down: the cluster's own routes have a lower metric.
block_routes() {
	local net
	for net in "$NODE_NET" "$POD_CIDR" "$SERVICE_CIDR"; do ip route replace unreachable "$net" metric 4242; done
}

write_settings() {
	local -a names=(NODE_NAME NODE_IP HOST_IP POD_CIDR SERVICE_CIDR CGROUP_NAME CGROUP_VERSION NODE_FOLDERS)
	CGROUP_VERSION=1
	[[ ! -e /sys/fs/cgroup/cgroup.controllers ]] || CGROUP_VERSION=2
	declare -p "${names[@]}" >"$STATE_DIR/etc/settings"
}

prepare_state() {
	local folder image
	mkdir -p "$STATE_DIR"/{etc,log,run/images,node}
	chmod 700 "$STATE_DIR"
	cp "$K8S_DIR"/node/*.sh "$STATE_DIR/node/"
	ln -s "$BINARIES" "$STATE_DIR/bin"
	for image in "${IMAGES[@]}"; do ln -s "$image" "$STATE_DIR/run/images/"; done
	for folder in "${NODE_FOLDERS[@]}"; do
		[[ -d $folder ]] || { echo "$folder" >>"$STATE_DIR/run/made" && mkdir -p "$folder"; }
	done
	make_pki 2>"$STATE_DIR/log/pki.log"
	write_config
	write_settings
	mkfifo "$STATE_DIR/run/gate"
}

# await_no_link: the kernel removes the link of a node that was killed, in its
# own time. One that stays is another cluster's, with another folder of state.
await_no_link() {
	local try
	for try in {1..50}; do
		ip link show "$HOST_LINK" >/dev/null 2>&1 || return 0
		sleep 0.1
	done
	fail "the link $HOST_LINK is still in use after $try tries" \
		"another cluster runs on this machine, started with another XDG_STATE_HOME or HOME; end that one first"
}

# start_init starts the node's process 1, records it, gives it its end of the
# link and only then lets it go on.
start_init() {
	local launcher init namespaces=(--net --mount --propagation private --pid --fork --mount-proc --uts)
	[[ $CGROUP_VERSION == 2 ]] || namespaces+=(--cgroup)
	setsid unshare "${namespaces[@]}" "$STATE_DIR/node/init.sh" "$STATE_DIR" >"$STATE_DIR/log/init.log" 2>&1 </dev/null 9>&- &
	launcher=$!
	until init=$(pgrep -P "$launcher"); do
		kill -0 "$launcher" 2>/dev/null || fail "the node's first process did not start" "$(tail -n 3 "$STATE_DIR/log/init.log")"
		sleep 0.02
	done
	echo "$init $(start_time "$init")" >"$INIT_FILE"
	ip link add "$HOST_LINK" type veth peer name eth0 netns "$init"
	ip addr add "$HOST_IP/24" dev "$HOST_LINK"
	ip link set "$HOST_LINK" up
	ip route replace "$POD_CIDR" via "$NODE_IP"
	ip route replace "$SERVICE_CIDR" via "$NODE_IP"
	echo go >"$STATE_DIR/run/gate"
}

# await SECONDS WHAT LOG COMMAND... polls until COMMAND succeeds, with a line
# every 10 s.
await() {
	local deadline=$((SECONDS + $1)) next=$((SECONDS + 10)) what=$2 log=$STATE_DIR/log/$3.log
	shift 3
	until "$@" >/dev/null 2>&1; do
		node_init >/dev/null || fail "the node has ended while waiting for $what" "$(tail -n 5 "$STATE_DIR/log/init.log")"
		((SECONDS < deadline)) || fail "no $what in time; the end of $log:" "$(tail -n 10 "$log")"
		if ((SECONDS >= next)); then
			say "waiting for $what, up to $((deadline - SECONDS)) s more"
			next=$((SECONDS + 10))
		fi
		sleep 0.1
	done
}

node_is_ready() { kubectl_admin get node "$NODE_NAME" -o 'jsonpath={.status.conditions[?(@.type=="Ready")].status}' | grep -q True; }
dns_is_ready() { kubectl_admin -n kube-system get deployment coredns -o 'jsonpath={.status.availableReplicas}' | grep -q 1; }
policies_are_enforced() { "$K8S_DIR/in.sh" iptables -S FORWARD | grep -q KUBE-ROUTER-FORWARD; }

deploy_dns() {
	sed "s|COREDNS_IMAGE|$COREDNS_IMAGE|; s|DNS_IP|$DNS_IP|" "$K8S_DIR/coredns.yaml" | kubectl_admin apply -f - >"$STATE_DIR/log/coredns-apply.log"
}

find_binaries() { BINARIES=$("$K8S_DIR/binaries.sh" cluster 9>&-); }
find_images() { mapfile -t IMAGES < <("$K8S_DIR/../image/build.sh" cluster 9>&-) && ((${#IMAGES[@]} == 2)); }
clear_and_start() {
	remove_node
	await_no_link
	prepare_state
	start_init
}

start() {
	part "binaries" find_binaries
	part "images of the cluster's own pods" find_images
	# Proxies are for the builds; the cluster's programs talk to each other only.
	unset http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY
	block_routes
	part "keys, configuration, namespaces" clear_and_start
}

# check_running refuses a cluster that another clone started with another version.
check_running() {
	local version
	version=$(kubectl_admin version --client -o json | sed -n 's/.*"gitVersion": "\(.*\)".*/\1/p')
	[[ $version == "$KUBE_VERSION" ]] || fail "a cluster of Kubernetes $version is running; this clone wants $KUBE_VERSION" "end it first: hack/k8s/down.sh"
	say "the cluster is running already"
}

main() {
	local begun
	begun=$(now)
	part "checks" "$K8S_DIR/preflight.sh"
	hold_lock "$CACHE_DIR/cluster.lock" "starting or stopping the cluster"
	if node_init >/dev/null; then check_running; else start; fi
	unset http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY
	part "API server" await 120 "API server" kube-apiserver kubectl_admin get --raw /readyz
	deploy_dns
	part "node Ready" await 120 "Ready node" kubelet node_is_ready
	part "DNS" await 120 "DNS" kubelet dns_is_ready
	part "NetworkPolicy agent" await 60 "NetworkPolicy agent" netpol policies_are_enforced
	cat <<-T
		The cluster is up after $(seconds_since "$begun") s: Kubernetes $KUBE_VERSION, node $NODE_NAME.
		  export KUBECONFIG=$CLUSTER_KUBECONFIG
		  export PATH=$(readlink "$STATE_DIR/bin"):\$PATH    # kubectl
		Load images with hack/k8s/load.sh, stop it with hack/k8s/down.sh.
	T
}
main "$@"
