// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"crypto/sha256"
	"errors"
	"sync"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/catalog"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/schema"
)

// maxDefinitions bounds what is remembered of definitions: those of ten thousand servers of five tools each. One that is good takes
// some hundred bytes.
const maxDefinitions = 1 << 16

// Definitions remembers which definitions can be served, and not their compiled schemas, which nobody uses here. It is safe for
// concurrent use.
type Definitions struct {
	mu    sync.Mutex
	known map[[sha256.Size]byte]flaw
}

// flaw is why a definition can't be served; the zero value is none.
type flaw struct{ reason, message string }

// NewDefinitions remembers nothing yet.
func NewDefinitions() *Definitions {
	return &Definitions{known: map[[sha256.Size]byte]flaw{}}
}

// invalid says why a definition can't be served: the dispatcher checks the same, and the words here are for people.
func (d *Definitions) invalid(chosen *registry.ObservedTool) (reason, message string) {
	key := sha256.Sum256(chosen.Definition)
	d.mu.Lock()
	found, ok := d.known[key]
	d.mu.Unlock()
	if !ok {
		found = judge(chosen.Definition)
		d.mu.Lock()
		if len(d.known) >= maxDefinitions {
			// Those in use are judged once more.
			clear(d.known)
		}
		d.known[key] = found
		d.mu.Unlock()
	}
	if found == (flaw{}) && chosen.Error != "" {
		return mcpv1alpha1.ReasonInvalidSchema, "the dispatcher can't serve it: " + chosen.Error
	}
	return found.reason, found.message
}

func judge(definition []byte) flaw {
	tool, err := catalog.ParseTool(definition)
	switch {
	case errors.Is(err, catalog.ErrNoInputSchema):
		return flaw{mcpv1alpha1.ReasonNoInputSchema, "the server lists it without an inputSchema, so no call could be checked: " + err.Error()}
	case err != nil:
		return flaw{mcpv1alpha1.ReasonInvalidSchema, err.Error()}
	}
	if _, err := schema.Compile(tool.InputSchema, schema.Options{RequireObject: true}); err != nil {
		return flaw{mcpv1alpha1.ReasonInvalidSchema, "inputSchema: " + err.Error()}
	}
	if tool.OutputSchema != nil {
		if _, err := schema.Compile(tool.OutputSchema, schema.Options{}); err != nil {
			return flaw{mcpv1alpha1.ReasonInvalidSchema, "outputSchema: " + err.Error()}
		}
	}
	return flaw{}
}
