// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"sync"
	"time"

	"toolgate.dev/toolgate/internal/catalog"
)

// Catalogue is one whole tools/list of a server with the sizes of its other lists.
type Catalogue struct {
	// Digest is catalog.CatalogueDigest over all tools.
	Digest string
	// Tools are in the server's order. Err is set where the definition cannot be served.
	Tools []CatalogueTool
	// Resources and Prompts are -1 when the server has no such list, and where nobody counted them (see lists.Count).
	Resources, Prompts int
	// TTL is how long the server says that its tools/list may be believed (2026-07-28, ttlMs; the least of its pages),
	// already within bounds; 0 where it says nothing.
	TTL time.Duration

	indexed sync.Once
	index   map[string]place
}

// place is where the first tool of a name stands, and whether there is another of that name.
type place struct {
	at    int
	twice bool
}

// Find gives the first tool of a name, nil if there is none, and whether the server lists another of that name. Tools must
// not change from then on.
func (c *Catalogue) Find(name string) (tool *CatalogueTool, twice bool) {
	c.indexed.Do(func() { // each call asks once, and a list once for each of its tools
		c.index = make(map[string]place, len(c.Tools))
		for i := range c.Tools {
			p, known := c.index[c.Tools[i].Name]
			if !known {
				p.at = i
			}
			p.twice = known
			c.index[c.Tools[i].Name] = p
		}
	})
	p, known := c.index[name]
	if !known {
		return nil, false
	}
	return &c.Tools[p.at], p.twice
}

// LeastTTL is below what no server can make a list be read again: one that says 0 would have each call wait for it.
const LeastTTL = 5 * time.Second

// Lasts is how long a catalogue may be believed where most is the longest that is allowed.
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
