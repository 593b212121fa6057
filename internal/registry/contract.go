// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"toolgate.dev/toolgate/internal/rules"
	"toolgate.dev/toolgate/internal/schema"
)

// The functions of this package, to be implemented in encode.go, decode.go and snapshot.go:
//
//	func (d *Document) Encode() (data []byte, digest string, err error)   // deterministic JSON; digest is sha256:<hex> over data
//	func Decode(data []byte) (*Document, error)                           // strict: unknown members, wrong version, duplicates: an error that names the member
//	func Compile(d *Document, digest string, revision string) (*Snapshot, error)
//
// Snapshot is immutable and safe for concurrent use:
//
//	func (s *Snapshot) Document() *Document
//	func (s *Snapshot) Digest() string
//	func (s *Snapshot) Tool(name string) (*Tool, bool)                    // of the snapshot's own revision
//	func (s *Snapshot) Tools() []*Tool                                    // sorted by name
//	func (s *Snapshot) RuleSets() []*rules.Compiled
//
// SchemaCache compiles each schema once, by digest and options, at first use, and outlives reloads:
//
//	func NewSchemaCache() *SchemaCache
//	func (c *SchemaCache) Get(digest string, raw []byte, opts schema.Options) (*schema.Schema, error)
var (
	_ = rules.Compile
	_ = schema.Compile
)
