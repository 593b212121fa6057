#!/usr/bin/env bash
# Copyright 2026 The Toolgate Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Makes dist/install.yaml: all of config/default as one file for kubectl apply -f. IMAGE is the image in it, of the manager and
# the dispatchers alike.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export GOFLAGS="-trimpath -buildvcs=false"
kustomize() { go tool -modfile="$root/hack/tools/go.mod" kustomize "$@"; }
root=$PWD
image=${IMAGE:-toolgate.dev/toolgate:dev}

mkdir -p dist
overlay=$(mktemp -d dist/overlay.XXXXXX)
trap 'rm -rf "$root/$overlay"' EXIT
# The replacement of config/default has run when the image is set here, so it runs again.
cat >"$overlay/kustomization.yaml" <<YAML
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [../../config/default]
replacements:
- source: {kind: Deployment, name: toolgate-manager, fieldPath: "spec.template.spec.containers.[name=manager].image"}
  targets:
  - select: {kind: Deployment, name: toolgate-manager}
    fieldPaths: ["spec.template.spec.containers.[name=manager].env.[name=DISPATCHER_IMAGE].value"]
YAML
(cd "$overlay" && kustomize edit set image "toolgate.dev/toolgate=$image")
kustomize build "$overlay" >"$overlay/install.yaml"
mv "$overlay/install.yaml" dist/install.yaml
echo "dist/install.yaml: $(grep -c '^kind: ' dist/install.yaml) objects, $(wc -c <dist/install.yaml) bytes, image $image"
