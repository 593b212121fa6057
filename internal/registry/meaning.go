// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"slices"
	"time"

	"toolgate.dev/toolgate/internal/catalog"
)

// Words of Tool.Withheld that a dispatcher has itself, beside those that the API has besides. WithheldDisabled is for a tool that people
// took out of service: it is a refusal of its own, where that of another word says that the tool is withheld.
const (
	WithheldDisabled  = "Disabled"
	WithheldInvalid   = "InvalidSchema"
	WithheldDuplicate = "DuplicateName"
)

// Admits says whether a tool may be served under the definition of this digest.
func (t *Tool) Admits(digest string, p *Policy) bool {
	if t.Digest == "" {
		return p.Discovery.PinningOff && (len(t.Digests) == 0 || slices.Contains(t.Digests, digest))
	}
	return t.Digest == digest
}

// Overrides are what people say of a tool; nil says nothing.
func (h *Hints) Overrides() catalog.Hints {
	if h == nil {
		return catalog.Hints{}
	}
	return catalog.Hints(*h)
}

// Ended says whether trust is over at a time, however lately a dispatcher was polled.
func (t Trust) Ended(now time.Time) bool {
	return t.ExpiresAt != 0 && now.Unix() >= t.ExpiresAt
}
