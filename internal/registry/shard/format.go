// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"bytes"
	"encoding/json"
	"fmt"

	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/rules"
)

// root is the first file of a document in shards: all of it but what is said of single tools and by RuleSets.
type root struct {
	Version     int                  `json:"version"` // registry.VersionSharded
	Sequence    int64                `json:"sequence"`
	Server      registry.Server      `json:"server"`
	Upstream    registry.Upstream    `json:"upstream"`
	Policy      registry.Policy      `json:"policy"`
	Telemetry   registry.Telemetry   `json:"telemetry,omitzero"`
	DomainModel registry.DomainModel `json:"domainModel,omitzero"`
	// Revisions are the names of all revisions, sorted; their tools are in the shards.
	Revisions []string `json:"revisions"`
	// Shards are those that hold something, in the order of their files.
	Shards []ref `json:"shards"`
}

// ref names one shard.
type ref struct {
	File string `json:"file"`
	// Digest is registry.Digest of the text, before compression.
	Digest string `json:"digest"`
}

// part is the text of one shard.
type part struct {
	Version int `json:"version"` // registry.VersionSharded
	// Tools are sorted by name; of one tool that differs between revisions, each form is one entry.
	Tools []entry `json:"tools,omitempty"`
	// RuleSets are sorted by name.
	RuleSets []rules.Set `json:"ruleSets,omitempty"`
}

// entry is a tool with the revisions in which it is the same.
type entry struct {
	Revisions []string      `json:"revisions"`
	Tool      registry.Tool `json:"tool"`
}

// text gives a value as deterministic JSON.
func text(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encoding a registry document: %w", err)
	}
	return buf.Bytes(), nil
}
