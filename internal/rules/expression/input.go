// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package expression

import "time"

// Input is what rules see of one call. Fields hold what was verified; only Client holds claims.
type Input struct {
	Tool      ToolInfo // zero for methods that carry no tool
	Args      []byte   // arguments with the schema's defaults filled in, strict JSON; nil: as RawArgs. Decoded only when a rule looks
	RawArgs   []byte   // arguments as sent, strict JSON; nil: {}
	Server    ServerInfo
	Caller    CallerInfo
	Client    ClientInfo
	Call      CallInfo
	Confirmed Confirmation // zero until a person confirmed
}

// ToolInfo is `tool` in CEL.
type ToolInfo struct {
	Name        string // the true name
	Title       string
	Version     string
	Destructive bool // the verdict, after overrides and gating scope
	Hints       Hints
}

// Hints is `tool.hints` in CEL: the effective hints, after overrides, with MCP's defaults for what nobody said.
type Hints struct {
	Destructive, ReadOnly, Idempotent, OpenWorld bool
}

// ServerInfo is `server` in CEL.
type ServerInfo struct {
	Name, Namespace, Domain string
	Capabilities            []string
	Trust                   string // Trusted or Untrusted
}

// CallerInfo is `caller` in CEL: from verified credentials only.
type CallerInfo struct {
	Kind, Name, Namespace string
	Groups                []string
	Claims                map[string]any // as decoded from JSON
}

// ClientInfo is `client` in CEL.
type ClientInfo struct {
	Claimed map[string]any // what the client says of itself (clientInfo): never proof of anything
}

// CallInfo is `call` in CEL.
type CallInfo struct {
	Method          string
	URI             string // of resources/read and the like
	Name            string // of prompts/get and tools/call
	ProtocolVersion string
	Time            time.Time
}

// Confirmation is `confirmed` in CEL.
type Confirmation struct {
	By   string // Caller or Approver
	User string
}
