// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/render"
)

// version is the version of the index's shape.
const version = 1

// Index is what people and clients read of a namespace: its servers that are in service, and their tools.
type Index struct {
	Version int      `json:"version"`
	Servers []Server `json:"servers"`
}

// Server is one server.
type Server struct {
	Name         string   `json:"name"`
	URL          string   `json:"url"`
	Description  string   `json:"description,omitempty"`
	Domain       string   `json:"domain,omitempty"`
	Capabilities []string `json:"capabilities,omitempty"`
	Tools        []Tool   `json:"tools"`
}

// Tool is one tool that is registered, with the digest of the definition that clients meet.
type Tool struct {
	Name   string `json:"name"`
	Digest string `json:"digest"`
}

// New makes the index of a namespace. Disabled servers and tools that are withheld are not in it.
func New(servers []mcpv1alpha1.MCPServer, tools []mcpv1alpha1.MCPTool) Index {
	index := Index{Version: version, Servers: []Server{}}
	of := map[string][]*mcpv1alpha1.MCPTool{}
	for i := range tools {
		t := &tools[i]
		of[t.Spec.ServerRef.Name] = append(of[t.Spec.ServerRef.Name], t)
	}
	for i := range servers {
		s := &servers[i]
		if render.Disabled(s) || !s.DeletionTimestamp.IsZero() {
			continue
		}
		index.Servers = append(index.Servers, Server{
			Name:         s.Name,
			URL:          render.URL(s),
			Description:  s.Spec.Description,
			Domain:       s.Spec.Domain,
			Capabilities: slices.Sorted(slices.Values(s.Spec.Capabilities)),
			Tools:        toolsOf(of[s.Name]),
		})
	}
	slices.SortFunc(index.Servers, func(a, b Server) int { return cmp.Compare(a.Name, b.Name) })
	return index
}

// toolsOf goes by what tools were judged by: while the spec's revision comes up, an older one serves, under pins of its own.
func toolsOf(tools []*mcpv1alpha1.MCPTool) []Tool {
	out := []Tool{}
	for _, t := range tools {
		if o := t.Status.Observed; o != nil && registered(t) {
			out = append(out, Tool{Name: t.Spec.ToolName, Digest: o.Digest})
		}
	}
	slices.SortFunc(out, func(a, b Tool) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

func registered(t *mcpv1alpha1.MCPTool) bool {
	return meta.IsStatusConditionTrue(t.Status.Conditions, mcpv1alpha1.ConditionRegistered)
}
