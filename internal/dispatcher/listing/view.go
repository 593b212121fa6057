// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package listing

import (
	"toolgate.dev/toolgate/internal/catalog"
	"toolgate.dev/toolgate/internal/dispatcher/policy"
	"toolgate.dev/toolgate/internal/dispatcher/upstream"
)

// View is a catalogue as policy looks at it.
func View(c *upstream.Catalogue) policy.View { return view{c} }

type view struct{ *upstream.Catalogue }

func (v view) Lookup(name string) (catalog.Tool, error) {
	found, twice := v.Find(name)
	switch {
	case found == nil:
		return catalog.Tool{}, policy.ErrNotListed
	case twice:
		return found.Tool, policy.ErrDuplicateName // nobody knows which of them a call would reach
	}
	return found.Tool, found.Err
}
