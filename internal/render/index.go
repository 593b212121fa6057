// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
)

// indexVersion is the version of the index's shape.
const indexVersion = 1

// Index is what people and clients read of a namespace: its servers that are in service, and their tools.
type Index struct {
	Version int           `json:"version"`
	Servers []IndexServer `json:"servers"`
}

// IndexServer is one server.
type IndexServer struct {
	Name         string      `json:"name"`
	URL          string      `json:"url"`
	Description  string      `json:"description,omitempty"`
	Domain       string      `json:"domain,omitempty"`
	Capabilities []string    `json:"capabilities,omitempty"`
	Tools        []IndexTool `json:"tools"`
}

// IndexTool is one tool that is registered, with the digest of the definition that is admitted.
type IndexTool struct {
	Name   string `json:"name"`
	Digest string `json:"digest"`
}

// NewIndex makes the index of a namespace. Disabled servers and tools that are withheld are not in it.
func NewIndex(servers []mcpv1alpha1.MCPServer, tools []mcpv1alpha1.MCPTool) (Index, error) {
	index := Index{Version: indexVersion, Servers: []IndexServer{}}
	of := map[string][]*mcpv1alpha1.MCPTool{}
	for i := range tools {
		t := &tools[i]
		of[t.Spec.ServerRef.Name] = append(of[t.Spec.ServerRef.Name], t)
	}
	for i := range servers {
		s := &servers[i]
		if Disabled(s) || !s.DeletionTimestamp.IsZero() {
			continue
		}
		current, err := Revision(s)
		if err != nil {
			return Index{}, err
		}
		index.Servers = append(index.Servers, IndexServer{
			Name:         s.Name,
			URL:          URL(s),
			Description:  s.Spec.Description,
			Domain:       s.Spec.Domain,
			Capabilities: slices.Sorted(slices.Values(s.Spec.Capabilities)),
			Tools:        indexTools(s, of[s.Name], current),
		})
	}
	slices.SortFunc(index.Servers, func(a, b IndexServer) int { return cmp.Compare(a.Name, b.Name) })
	return index, nil
}

func indexTools(s *mcpv1alpha1.MCPServer, tools []*mcpv1alpha1.MCPTool, revision string) []IndexTool {
	out := []IndexTool{}
	for _, t := range tools {
		if !registered(t) {
			continue
		}
		digest := Admitted(s, t, revision)
		if digest == "" && t.Status.Observed != nil {
			digest = t.Status.Observed.Digest
		}
		out = append(out, IndexTool{Name: t.Spec.ToolName, Digest: digest})
	}
	slices.SortFunc(out, func(a, b IndexTool) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

func registered(t *mcpv1alpha1.MCPTool) bool {
	return meta.IsStatusConditionTrue(t.Status.Conditions, mcpv1alpha1.ConditionRegistered)
}
