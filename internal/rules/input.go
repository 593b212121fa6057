// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import "toolgate.dev/toolgate/internal/rules/expression"

type (
	// Input is what rules see of one call.
	Input = expression.Input
	// ToolInfo is `tool` in CEL.
	ToolInfo = expression.ToolInfo
	// Hints is `tool.hints` in CEL.
	Hints = expression.Hints
	// ServerInfo is `server` in CEL.
	ServerInfo = expression.ServerInfo
	// CallerInfo is `caller` in CEL.
	CallerInfo = expression.CallerInfo
	// ClientInfo is `client` in CEL.
	ClientInfo = expression.ClientInfo
	// CallInfo is `call` in CEL.
	CallInfo = expression.CallInfo
	// Confirmation is `confirmed` in CEL.
	Confirmation = expression.Confirmation
)
