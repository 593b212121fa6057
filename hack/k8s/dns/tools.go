// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build tools

// Package dns pins CoreDNS; nothing imports it.
package dns

import (
	_ "github.com/coredns/coredns"
)
