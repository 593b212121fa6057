// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"sync"

	"toolgate.dev/toolgate/internal/schema"
)

// maxSchemas bounds the cache. The largest catalogues seen hold some hundred tools with two schemas each; a server that
// changes its definitions for ever must not fill the memory.
const maxSchemas = 4096

// SchemaCache compiles each schema once, at first use, and outlives reloads of the document. It is safe for concurrent
// use; two callers that ask for one schema wait for one compilation.
type SchemaCache struct {
	mu      sync.Mutex
	entries map[schemaKey]*schemaEntry
}

type schemaKey struct {
	digest, member string
	opts           schema.Options
}

type schemaEntry struct {
	once   sync.Once
	schema *schema.Schema
	err    error
}

// NewSchemaCache gives an empty cache.
func NewSchemaCache() *SchemaCache {
	return &SchemaCache{entries: map[schemaKey]*schemaEntry{}}
}

// Get gives the compiled schema that stands in a member of the definition with the digest; raw is its text. A schema that does
// not compile gives the same *schema.CompileError each time.
func (c *SchemaCache) Get(digest, member string, raw []byte, opts schema.Options) (*schema.Schema, error) {
	entry := c.entry(schemaKey{digest: digest, member: member, opts: opts})
	entry.once.Do(func() { entry.schema, entry.err = schema.Compile(raw, opts) })
	return entry.schema, entry.err
}

func (c *SchemaCache) entry(key schemaKey) *schemaEntry {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.entries[key]; ok {
		return e
	}
	if len(c.entries) >= maxSchemas {
		// Starting over costs one compilation for each schema in use, once in thousands of changes; an order of use would
		// cost a lock on every call.
		clear(c.entries)
	}
	e := &schemaEntry{}
	c.entries[key] = e
	return e
}
