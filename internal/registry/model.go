// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

// DomainModel is the text that says what a server's domain is about; the zero value is none.
type DomainModel struct {
	// File in the dispatcher, and what it is written in.
	File   string      `json:"file,omitempty"`
	Format ModelFormat `json:"format,omitempty"`
}

// ModelFormat is what a domain model is written in.
type ModelFormat string

// The formats of a domain model.
const (
	ModelTurtle   ModelFormat = "turtle"
	ModelJSON     ModelFormat = "json"
	ModelMarkdown ModelFormat = "markdown"
)

// DomainModelState is what a dispatcher found of it.
type DomainModelState struct {
	// Digest of the text that was read last; Missing where there is no file.
	Digest  string `json:"digest,omitempty"`
	Missing bool   `json:"missing,omitempty"`
	// Error says what is wrong with it; the text before stays in use.
	Error string `json:"error,omitempty"`
}
