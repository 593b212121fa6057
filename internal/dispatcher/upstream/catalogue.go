// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"toolgate.dev/toolgate/internal/catalog"
	"toolgate.dev/toolgate/internal/registry"
)

// Catalogue is one whole tools/list of a server with the sizes of its other lists.
type Catalogue struct {
	// Digest is catalog.CatalogueDigest over all tools.
	Digest string
	// Tools are in the server's order. Err is set where the definition cannot be served.
	Tools []CatalogueTool
	// Resources and Prompts are -1 when the server has no such list.
	Resources, Prompts int
}

// CatalogueTool is one definition of a catalogue.
type CatalogueTool struct {
	catalog.Tool
	Err error
}

// Error is a failure of the server or of the way to it.
type Error struct {
	Reason registry.FailureReason
	// Message says what happened and what to do, in a sentence, without the server's own output.
	Message string
	// Stderr are the child's last lines, for people.
	Stderr []string
	Err    error
}

func (e *Error) Error() string { return e.Message }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }
