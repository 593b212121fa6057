// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

import "toolgate.dev/toolgate/internal/catalog"

// Catalogue is one whole tools/list of a server with the sizes of its other lists.
type Catalogue struct {
	// Digest is catalog.CatalogueDigest over all tools.
	Digest string
	// Tools are in the server's order. Err is set where the definition cannot be served.
	Tools []CatalogueTool
	// Resources and Prompts are -1 when the server has no such list, and where nobody counted them (see CountLists).
	Resources, Prompts int
}

// CatalogueTool is one definition of a catalogue.
type CatalogueTool struct {
	catalog.Tool
	Err error
}
