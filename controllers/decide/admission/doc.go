// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package admission decides which definition of a tool is served: what the pods of a server list, what of it is admitted, how
// it differs from what was admitted before, and whether it keeps the contract.
//
// It owns everything in the status of an MCPTool but the conditions. Its functions are pure: no client, no clock, no order of
// maps. It must not import controller-runtime.
package admission
