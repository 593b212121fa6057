// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"time"

	"toolgate.dev/toolgate/internal/catalog"
)

// Catalogue is one whole tools/list of a server with the sizes of its other lists.
type Catalogue struct {
	// Digest is catalog.CatalogueDigest over all tools.
	Digest string
	// Tools are in the server's order. Err is set where the definition cannot be served.
	Tools []CatalogueTool
	// Resources and Prompts are -1 when the server has no such list, and where nobody counted them (see CountLists).
	Resources, Prompts int
	// TTL is how long the server says that its tools/list may be believed (2026-07-28, ttlMs; the least of its pages),
	// already within bounds; 0 where it says nothing.
	TTL time.Duration
}

// LeastTTL is below what no server can make a list be read again: one that says 0 would have each call wait for it.
const LeastTTL = 5 * time.Second

// Lasts is how long a catalogue may be believed where at most most is allowed.
func (c *Catalogue) Lasts(most time.Duration) time.Duration {
	if c.TTL == 0 {
		return most
	}
	return min(c.TTL, most)
}

// CatalogueTool is one definition of a catalogue.
type CatalogueTool struct {
	catalog.Tool
	Err error
}
