// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"slices"

	"toolgate.dev/toolgate/internal/dispatcher/features"
	"toolgate.dev/toolgate/internal/dispatcher/requests"
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/rules"
)

// Client is what a client said of itself in initialize, or in the request itself.
type Client struct {
	Claimed rules.ClientInfo
	// Label is its name and version, for records.
	Label string
	// Capabilities are stripped of what policy denies.
	Capabilities []byte
	// Form says that the client can put a form before its person, whatever policy lets servers ask.
	Form bool
	// Info is the raw clientInfo, nil if absent.
	Info []byte
}

// ClientOf reads what a client says of itself in initialize. What policy denies is taken out of its capabilities, so that
// the server does not even try.
func ClientOf(initialize *jsonrpc.Message, allowed registry.Client) Client {
	declared := initialize.Param("capabilities")
	return NewClient(declared, slices.Clone(initialize.Param("clientInfo")), allowed)
}

// NewClient is a client of these capabilities and clientInfo, both raw and nil if absent.
func NewClient(capabilities, info []byte, allowed registry.Client) Client {
	c := Client{Capabilities: features.Strip(capabilities, allowed), Form: features.Form(capabilities), Info: info}
	c.Claimed, c.Label = requests.ClaimedClient(info)
	return c
}
