// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds the three kinds of Toolgate: MCPServer, MCPTool and RuleSet, with their conditions and reasons.
//
// It owns the shape of the API and its admission rules, and imports apimachinery and core types only.
//
// +kubebuilder:object:generate=true
// +groupName=mcp.toolgate.dev
package v1alpha1
