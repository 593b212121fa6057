// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package document renders what the dispatchers of a server enforce: its registry document, made of the server's policy, its
// tools with the definitions that are admitted, and the RuleSets that reach it, and the ConfigMaps that hold it.
//
// It is pure, as all of render is, and knows nothing of pods: it must not import render/workload.
package document
