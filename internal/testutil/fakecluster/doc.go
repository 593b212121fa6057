// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fakecluster plays what stands around a lone API server: the controllers of Deployments and ReplicaSets, a kubelet,
// the garbage collector, and the dispatchers in the pods. It is for tests alone, knows nothing of the manager under test but
// the labels and names that render gives, and speaks to the API server directly.
package fakecluster
