#!/usr/bin/env bash
# Copyright 2026 The Toolgate Authors.
# SPDX-License-Identifier: Apache-2.0
#
# build.sh toolgate [BIN]   the project's own image, of the manager and dispatcher
#                           in BIN, or of binaries built now
# build.sh demo             the images of the servers in servers.txt
# build.sh cluster          the images that the cluster itself runs
# build.sh locks [LIST...]  resolves the dependencies of the npm packages in the
#                           lists anew, into locks/; of all lists if none is named
#
# Prints the archives, one a line, for hack/k8s/load.sh; progress goes to
# stderr. An archive's name holds a hash of all that goes into it, so one that
# is in the cache already is not built again.
set -euo pipefail
IMAGE_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=hack/k8s/env.sh
. "$IMAGE_DIR/../k8s/env.sh"
# shellcheck source=hack/k8s/lib.sh
. "$K8S_DIR/lib.sh"
export GOFLAGS=-buildvcs=false GOWORK=off CGO_ENABLED=0
ARCHIVES=$CACHE_DIR/images
BUNDLE=/etc/ssl/certs/ca-certificates.crt

# hash prints a short one of its input.
hash() { sha256sum | cut -c1-12; }

# prepare builds the program that makes images, unless it is there.
prepare() {
	local partial
	mkdir -p "$ARCHIVES"
	PROGRAM=$ARCHIVES/.image-$(cat "$IMAGE_DIR"/*.go "$IMAGE_DIR/go.sum" <(go version) | hash)
	[[ -x $PROGRAM ]] && return
	partial=$(mktemp "$ARCHIVES/.partial-XXXXXX")
	step "image builder" "$partial.log" go -C "$IMAGE_DIR" build -trimpath -o "$partial" .
	rm "$partial.log"
	mv "$partial" "$PROGRAM"
}

# archive NAME TAG KEY ARGUMENT... builds an image unless the cache has it, and
# prints where it is. KEY stands for all that goes into it.
archive() {
	local name=$1 tag=$2 file log
	file=$ARCHIVES/$name-$(hash <<<"$PROGRAM $tag $3").tar
	shift 3
	if [[ ! -f $file ]]; then
		log=$(mktemp)
		step "image $tag" "$log" "$PROGRAM" "$1" --out "$file" --tag "$tag" "${@:2}"
		rm "$log"
	fi
	echo "$file"
}

build_toolgate() {
	local bin=${1:-} made='' key
	if [[ -z $bin ]]; then
		made=$(mktemp -d)
		bin=$made
		step "manager and dispatcher" "$made/log" \
			go -C "$IMAGE_DIR/../.." build -trimpath -ldflags "-s -w" -o "$bin/" ./cmd/manager ./cmd/dispatcher
	fi
	key=$(cat "$bin/manager" "$bin/dispatcher" "$BUNDLE" | hash)
	# Every change to the project makes one: keep those of the last hour.
	find "$ARCHIVES" -name 'toolgate-*.tar' -mmin +60 -delete
	archive toolgate toolgate.dev/toolgate:dev "$key" toolgate --bin "$bin"
	[[ -z $made ]] || rm -r "$made"
}

build_demo() {
	local name package version key
	while read -r name package version; do
		key=$(cat "$IMAGE_DIR/locks/$name.json" "$BUNDLE" <(node --version) <(echo "$package $version") | hash)
		archive "$name" "toolgate.dev/demo/$name:$version" "$key" \
			npm --package "$package@$version" --lock "$IMAGE_DIR/locks/$name.json" --cache "$CACHE_DIR/npm"
	done < <(servers servers.txt)
}

build_cluster() {
	local binaries
	binaries=$("$K8S_DIR/binaries.sh" cluster)
	archive pause "$PAUSE_IMAGE" "$binaries" program --binary "$binaries/pause"
	archive coredns "$COREDNS_IMAGE" "$binaries" program --binary "$binaries/coredns"
}

# servers LIST... prints the lines of lists without their comments.
servers() { (cd "$IMAGE_DIR" && grep -hv '^#' "$@"); }

# build_locks writes what npm resolves each package's dependencies to, without
# the addresses it would get them from.
build_locks() {
	local name package version folder lists=("$@")
	[[ $# -gt 0 ]] || lists=(servers.txt test-servers.txt bench-peers.txt conformance.txt clients.txt)
	folder=$(mktemp -d)
	mkdir "$folder/image"
	while read -r name package version; do
		echo "{\"private\": true, \"dependencies\": {\"$package\": \"$version\"}}" >"$folder/image/package.json"
		step "dependencies of $package@$version" "$folder/log" npm install --prefix "$folder/image" --package-lock-only \
			--omit-lockfile-registry-resolved --ignore-scripts --no-audit --no-fund
		mv "$folder/image/package-lock.json" "$IMAGE_DIR/locks/$name.json"
	done < <(servers "${lists[@]}")
	rm -r "$folder"
}

main() {
	local what=${1:-}
	case $what in
	toolgate | demo | cluster) prepare ;;
	locks) ;;
	*) fail "build.sh wants what to build: toolgate, demo, cluster or locks" ;;
	esac
	trap end_step EXIT
	"build_$what" "${@:2}"
}
main "$@"
