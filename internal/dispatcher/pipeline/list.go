// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"toolgate.dev/toolgate/internal/dispatcher/listing"
	"toolgate.dev/toolgate/internal/dispatcher/policy"
	"toolgate.dev/toolgate/internal/dispatcher/requests"
	"toolgate.dev/toolgate/internal/dispatcher/upstream"
)

// Listing is what clients see of a catalogue. Nobody may write to it.
func (p *Pipeline) Listing(c *upstream.Catalogue) []policy.ListedTool {
	engine := p.engine.Load()
	if engine == nil || c == nil {
		return nil
	}
	return p.lists.Of(engine, c, p.Trusted(engine)).Tools
}

// list answers tools/list: the tools of the registry that this catalogue holds as admitted.
func (x *exchange) list(c *upstream.Catalogue) requests.Answer {
	if c == nil {
		return requests.Answer{Refusal: listing.NotRead()}
	}
	page, refusal := x.lists.Of(x.engine, c, x.trusted).Page(x.Cursor)
	return requests.Answer{Result: page, Refusal: refusal}
}
