#!/usr/bin/env bash
# Copyright 2026 The Toolgate Authors.
# SPDX-License-Identifier: Apache-2.0
#
# preflight.sh: is all here that the cluster needs? Installs missing Debian
# packages where it can; otherwise names everything that is missing at once,
# and the other ways to a cluster. Starts nothing and changes nothing else.
set -euo pipefail
# shellcheck source=hack/k8s/env.sh
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"
# shellcheck source=hack/k8s/lib.sh
. "$K8S_DIR/lib.sh"

MISSING=()
missing() { MISSING+=("$1"); }

# report ends the script if anything was missing.
report() {
	((${#MISSING[@]})) || return 0
	say "The development cluster cannot start on this machine. Missing:"
	printf '  - %s\n' "${MISSING[@]}" >&2
	say "Other ways to a cluster:"
	say "  make demo CLUSTER=current                          the cluster of your current kube context"
	say "  kind create cluster && make demo CLUSTER=current   a cluster in a container engine"
	exit 1
}

# What proves a package is there: a command, or a file of it.
PACKAGES=(
	"containernetworking-plugins:/usr/lib/cni/bridge"
	"gcc:gcc"
	"iproute2:ip"
	"ipset:ipset"
	"iptables:iptables"
	"libc6-dev:/usr/include/stdio.h"
	"libseccomp-dev:/usr/include/seccomp.h"
	"nftables:nft"
	"openssl:openssl"
	"pkg-config:pkg-config"
	"procps:pgrep"
	"util-linux:unshare"
)

absent_packages() {
	local entry proof
	for entry in "${PACKAGES[@]}"; do
		proof=${entry#*:}
		if [[ $proof == /* ]]; then [[ -e $proof ]]; else command -v "$proof" >/dev/null; fi || echo "${entry%%:*}"
	done
}

install_packages() {
	local log
	log=$(mktemp)
	step "installing Debian packages: $*" "$log" bash -c '
		apt-get install -y --no-install-recommends "$@" || { apt-get update && apt-get install -y --no-install-recommends "$@"; }
	' apt "$@"
	rm -f "$log"
}

check_machine() {
	[[ $(uname -s) == Linux ]] || { missing "Linux: this is $(uname -s)" && report; }
	[[ $(id -u) == 0 ]] || missing "root: run it with sudo, or in a root shell"
	command -v go >/dev/null || missing "Go $(sed -n 's/^go //p' "$K8S_DIR/controlplane/go.mod") or later, in PATH"
	if [[ ! -e /sys/fs/cgroup/cgroup.controllers ]] && ! grep -q '[:,]memory[:,]' /proc/self/cgroup; then
		missing "the memory controller of cgroups, of version 1 or 2"
	fi
}

check_packages() {
	local absent
	mapfile -t absent < <(absent_packages)
	((${#absent[@]})) || return 0
	if [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null; then
		((${#MISSING[@]})) || DEBIAN_FRONTEND=noninteractive install_packages "${absent[@]}"
		return
	fi
	missing "Debian packages (apt-get install ${absent[*]}), or what they hold"
}

# probe FEATURE SCRIPT tries a kernel feature in namespaces of its own, which
# end with it.
probe() {
	local error
	error=$(unshare --net --mount --pid --fork --uts bash -euc "$2" 2>&1) || missing "kernel: $1 ($(tail -n 1 <<<"$error"))"
}

# free_of NET VARIABLE: does a route other than up.sh's own lead into NET, or to
# a network that holds it?
free_of() {
	local routes
	routes=$({ ip -4 route show to root "$1" && ip -4 route show to match "$1"; } |
		grep -v -e '^default' -e 'metric 4242' -e "dev $HOST_LINK" || true)
	[[ -z $routes ]] || missing "addresses $1: taken by '${routes%%$'\n'*}'; choose others with $2"
}

check_kernel() {
	local module scratch=$STATE_DIR.preflight error
	if ! error=$(unshare --net --mount --pid --fork --uts true 2>&1); then
		missing "the right to make namespaces, which a container may lack ($error)"
		return
	fi
	for module in overlay br_netfilter nf_tables ip_set veth; do modprobe -q "$module" 2>/dev/null || true; done
	mkdir -p "$scratch"/{lower,upper,work,merged}
	probe "overlayfs on $STATE_DIR" "cd '$scratch' && mount -t overlay overlay -o lowerdir=lower,upperdir=upper,workdir=work merged"
	rm -rf "$scratch"
	rmdir "$(dirname "$scratch")" 2>/dev/null || true
	probe "network namespaces, bridge and veth" "ip link add name pods type bridge && ip link add name pod0 type veth peer name pod1 && ip link set pod0 master pods"
	probe "nf_tables" "nft add table ip probe"
	probe "ip_set" "ipset create probe hash:net"
	probe "iptables on nf_tables, with the matches that kube-router uses" \
		"iptables -A INPUT -m comment --comment x -m conntrack --ctstate NEW -m mark --mark 1 -m addrtype --dst-type LOCAL -j REJECT"
	probe "br_netfilter" "echo 1 >/proc/sys/net/bridge/bridge-nf-call-iptables"
	free_of "$NODE_NET" "TOOLGATE_HOST_IP and TOOLGATE_NODE_IP"
	free_of "$POD_CIDR" TOOLGATE_POD_CIDR
	free_of "$SERVICE_CIDR" TOOLGATE_SERVICE_CIDR
}

check_machine
check_packages
report
check_kernel
report
