// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// DomainModel is a text that says what the server's domain is about. The server
// finds its path in the environment variable DOMAIN_MODEL, but for a remote one.
// A change of the ConfigMap reaches both server and clients without a restart; a
// text that is malformed is told of in the condition Accepted, and clients keep
// the last good one.
type DomainModel struct {
	// configMapKeyRef is where the text is, in this namespace.
	// +required
	ConfigMapKeyRef KeyRef `json:"configMapKeyRef,omitzero"`
	// format of the text: turtle (RDF 1.1 Turtle; strings, IRIs, brackets,
	// prefixes and the last full stop are checked), json (checked strictly) or
	// markdown.
	// +required
	Format ModelFormat `json:"format,omitempty"`
}

// ModelFormat is what a domain model is written in.
// +kubebuilder:validation:Enum=turtle;json;markdown
type ModelFormat string

// Formats of domain models.
const (
	// ModelTurtle is RDF 1.1 Turtle.
	ModelTurtle ModelFormat = "turtle"
	// ModelJSON is JSON.
	ModelJSON ModelFormat = "json"
	// ModelMarkdown is Markdown.
	ModelMarkdown ModelFormat = "markdown"
)
