// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package footprint

// releaseProgram does nothing: other systems count the pages of a program in other ways.
func releaseProgram() error { return nil }
