// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package documents gives registry documents to tests and measurements that run a whole dispatcher. It imports no Kubernetes.
package documents

import (
	"encoding/json"
	"fmt"

	"toolgate.dev/toolgate/internal/catalog"
	"toolgate.dev/toolgate/internal/registry"
)

// Admitting gives a document of one revision that admits the tools of these definitions, as the server lists them, also those
// that policy withholds. The server is trusted and everything is exposed; probes and readings are so rare, an hour apart, that
// nothing moves but what the caller does, and limits are far away. The caller changes what it is about. The error says what is no tool.
func Admitting(revision string, definitions ...json.RawMessage) (*registry.Document, error) {
	const hour = 3600
	doc := &registry.Document{
		Version: registry.Version, Sequence: 1,
		Server:   registry.Server{Namespace: "default", Name: "server"},
		Upstream: registry.Upstream{Transport: registry.TransportStdio, Isolation: registry.IsolationSession},
		Policy: registry.Policy{
			TimeoutSeconds: 60,
			Limits:         registry.Limits{MaxConcurrent: 256, MaxSessions: 64, SessionIdleSeconds: hour, MaxRequestBytes: 32 << 20, MaxResponseBytes: 32 << 20},
			Health:         registry.Health{IntervalSeconds: hour, TimeoutSeconds: 30, FailureThreshold: 3},
			Discovery:      registry.Discovery{TTLSeconds: hour},
			Trust:          registry.Trust{Trusted: true},
			Expose:         registry.Expose{Tools: true, Resources: true, Prompts: true, Completions: true},
			Client:         registry.Client{Sampling: true, ElicitationForm: true, Roots: true},
			Validation:     registry.Validation{Arguments: registry.Enforce, Results: registry.Warn},
		},
	}
	tools := []registry.Tool{}
	for _, d := range definitions {
		tool, err := catalog.ParseTool(d)
		if tool.Name == "" {
			return nil, fmt.Errorf("%s is no tool: %w", d, err)
		}
		tools = append(tools, registry.Tool{Name: tool.Name, Digest: tool.Digest})
	}
	doc.Revisions = map[string]registry.Revision{revision: {Tools: tools}}
	return doc, nil
}
