// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build tools

// Package netpol pins kube-router, the agent that enforces NetworkPolicies;
// nothing imports it.
package netpol

import (
	_ "github.com/cloudnativelabs/kube-router/v2/cmd/kube-router"
)
