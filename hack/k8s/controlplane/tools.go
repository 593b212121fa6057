// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build tools

// Package controlplane pins the Kubernetes binaries and etcd; nothing imports it. It is a module of
// its own because Kubernetes replaces its staging modules, and those replacements
// must not leak into the product.
package controlplane

import (
	_ "go.etcd.io/etcd/server/v3"
	_ "k8s.io/kubernetes/cmd/kube-apiserver"
	_ "k8s.io/kubernetes/cmd/kube-controller-manager"
	_ "k8s.io/kubernetes/cmd/kube-proxy"
	_ "k8s.io/kubernetes/cmd/kube-scheduler"
	_ "k8s.io/kubernetes/cmd/kubectl"
	_ "k8s.io/kubernetes/cmd/kubelet"
)
