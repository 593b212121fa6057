// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build tools

// Package runtime pins the container runtime; nothing imports it.
package runtime

import (
	_ "github.com/containerd/containerd/v2/cmd/containerd"
	_ "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2"
	_ "github.com/containerd/containerd/v2/cmd/ctr"
)
