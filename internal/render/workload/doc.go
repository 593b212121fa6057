// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package workload renders the children that run a server: its Deployment with the shape of the pod and the command line of
// the dispatcher, Services, ServiceAccount, NetworkPolicy and PodDisruptionBudget.
//
// It is pure, as all of render is, and knows nothing of documents and rules: it must not import render/document.
package workload
