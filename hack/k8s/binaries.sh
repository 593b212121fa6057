#!/usr/bin/env bash
# Copyright 2026 The Toolgate Authors.
# SPDX-License-Identifier: Apache-2.0
#
# binaries.sh envtest|cluster
#
# Builds the control plane that the envtest suites use (kube-apiserver, etcd,
# kubectl), or all that the cluster needs besides, from Go modules into a cache
# outside the clone. Prints the folder; progress goes to stderr.
#
# A set is built in a temporary folder and renamed when whole, so a folder in
# the cache is always complete. Its name holds a hash of all that goes into it.
set -euo pipefail
# shellcheck source=hack/k8s/env.sh
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"
# shellcheck source=hack/k8s/lib.sh
. "$K8S_DIR/lib.sh"

export GOFLAGS=-buildvcs=false GOWORK=off
STRIP="-s -w"

# kube_ldflags prints the flags that make Kubernetes say its own version.
kube_ldflags() {
	local package version=${KUBE_VERSION#v} flags=$STRIP
	local minor=${version#*.}
	for package in k8s.io/client-go/pkg/version k8s.io/component-base/version; do
		flags+=" -X $package.gitVersion=$KUBE_VERSION -X $package.gitMajor=${version%%.*}"
		flags+=" -X $package.gitMinor=${minor%%.*} -X $package.gitTreeState=clean"
		flags+=" -X $package.gitCommit=module -X $package.buildDate=1970-01-01T00:00:00Z"
	done
	echo "$flags"
}

# set_folder SET FOLDER... prints where SET is kept, given the module folders
# that go into it.
set_folder() {
	local name=$1 hash
	shift
	hash=$(
		cd "$K8S_DIR"
		{
			go version
			kube_ldflags
			for module in "$@"; do find "$module" -type f | LC_ALL=C sort | xargs cat; done
		} | sha256sum | cut -c1-12
	)
	echo "$CACHE_DIR/k8s/$KUBE_VERSION-$(go env GOOS)-$(go env GOARCH)-$name-$hash"
}

# compiled LOG tells how far `go build -v` is: it names packages as it goes.
compiled() {
	local count
	count=$(grep -vc "^go: " "$1" || true)
	if ((count)); then echo "$count packages compiled"; else echo "reading packages, or linking"; fi
}
STEP_NOTE=compiled

# build MODULE LDFLAGS PACKAGE... builds into $OUT; BUILD_TAGS adds build tags.
build() {
	local module=$1 ldflags=$2 name=$CURRENT
	shift 2
	local target=$OUT/$name
	(($# == 1)) || target=$OUT/
	DONE=$((DONE + 1))
	step "[$DONE/$STEPS] $name" "$OUT.logs/$name.log" \
		go -C "$K8S_DIR/$module" build -v -trimpath -tags "${BUILD_TAGS:-}" -ldflags "$ldflags" -o "$target" "$@"
}

build_envtest() {
	local kube
	kube=$(kube_ldflags)
	export CGO_ENABLED=0
	CURRENT=kube-apiserver build controlplane "$kube" k8s.io/kubernetes/cmd/kube-apiserver
	CURRENT=etcd build controlplane "$STRIP" go.etcd.io/etcd/server/v3
	CURRENT=kubectl build controlplane "$kube" k8s.io/kubernetes/cmd/kubectl
}

build_cluster() {
	local kube name containerd=github.com/containerd/containerd/v2
	kube=$(kube_ldflags)
	ln "$ENVTEST"/kube-apiserver "$ENVTEST"/etcd "$ENVTEST"/kubectl "$OUT/"
	export CGO_ENABLED=0
	for name in kube-controller-manager kube-scheduler kubelet kube-proxy; do
		CURRENT=$name build controlplane "$kube" "k8s.io/kubernetes/cmd/$name"
	done
	CURRENT=containerd build runtime "$STRIP -X $containerd/version.Version=$CONTAINERD_VERSION" \
		"$containerd/cmd/containerd" "$containerd/cmd/containerd-shim-runc-v2" "$containerd/cmd/ctr"
	# Without cgo and libseccomp, pods with the RuntimeDefault profile cannot start.
	CURRENT=runc BUILD_TAGS=seccomp CGO_ENABLED=1 build runc "$STRIP" github.com/opencontainers/runc
	CURRENT=coredns build dns "$STRIP" .
	CURRENT=netpol build netpol "$STRIP" .
	CURRENT=pause build pause "$STRIP" .
}

# ensure SET FOLDER STEPS builds SET into FOLDER unless it is there.
ensure() {
	local folder=$2
	[[ -d $folder ]] && return
	hold_lock "$CACHE_DIR/k8s/lock" "building Kubernetes binaries"
	[[ -d $folder ]] && return
	# The lock is ours, so what an interrupted build left is nobody's.
	rm -rf "$CACHE_DIR"/k8s/*.partial "$CACHE_DIR"/k8s/*.partial.logs
	# A name of its own keeps out what a killed build may still be linking.
	OUT=$folder.$$.partial STEPS=$3 DONE=0
	mkdir -p "$OUT" "$OUT.logs"
	say "Building the $1 binaries of Kubernetes $KUBE_VERSION from Go modules, once: on two cores 11 to 14 minutes" \
		"for envtest and 10 more for cluster where nothing is cached. They go to $folder"
	"build_$1"
	rm -rf "$OUT.logs"
	mv -T "$OUT" "$folder"
	exec 9>&-
}

holds_envtest() { [[ -x $1/kube-apiserver && -x $1/etcd && -x $1/kubectl ]]; }

main() {
	local set=${1:-}
	[[ $set == envtest || $set == cluster ]] || fail "binaries.sh wants the set to build: envtest or cluster"
	if [[ $set == envtest && -n ${KUBEBUILDER_ASSETS:-} ]] && holds_envtest "$KUBEBUILDER_ASSETS"; then
		echo "$KUBEBUILDER_ASSETS"
		return
	fi
	command -v go >/dev/null || fail "go is missing" "install Go, or set KUBEBUILDER_ASSETS to a folder with kube-apiserver, etcd and kubectl"
	trap end_step EXIT
	ENVTEST=$(set_folder envtest controlplane)
	ensure envtest "$ENVTEST" 3
	[[ $set == cluster ]] || { echo "$ENVTEST" && return; }
	local cluster
	cluster=$(set_folder cluster controlplane runtime runc dns netpol pause)
	ensure cluster "$cluster" 9
	echo "$cluster"
}
main "$@"
