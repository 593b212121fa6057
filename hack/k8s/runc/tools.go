// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build tools

// Package runc pins runc, apart from containerd because each resolves its own
// versions of what they share; nothing imports it.
package runc

import (
	_ "github.com/opencontainers/runc"
)
