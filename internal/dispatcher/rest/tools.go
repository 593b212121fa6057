// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"encoding/json"
	"net/http"

	"toolgate.dev/toolgate/internal/dispatcher/listing"
	"toolgate.dev/toolgate/internal/dispatcher/policy"
	"toolgate.dev/toolgate/internal/mcp"
)

// record is a tool's registration record.
type record struct {
	Name         string          `json:"name"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
	Metadata     metadata        `json:"metadata"`
}

// metadata is what Toolgate adds. Destructive is whatever is not read-only: callers of REST know no other class.
type metadata struct {
	Module       string  `json:"module"`
	Destructive  bool    `json:"destructive"`
	DeprecatedIn *string `json:"deprecated_in"`
	Version      *string `json:"version"`
	CacheTTL     int     `json:"cache_ttl"`
}

// toolList is the shape of GET /api/mcp/tools.
type toolList struct {
	Tools []record `json:"tools"`
}

// records are the tools that can be called. No tools and not knowing the tools are two things.
func (h *Handler) records() ([]record, *policy.Refusal) {
	doc, catalogue := h.Pipeline.Document(), h.Pipeline.Discovery.Catalogue()
	if doc == nil || catalogue == nil {
		return nil, listing.NotRead()
	}
	if refusal := h.Pipeline.Check(policy.Call{Method: mcp.MethodListTools, ProtocolVersion: mcp.LatestLegacy}); refusal != nil {
		return nil, refusal
	}
	listed := h.Pipeline.Listing(catalogue)
	records := make([]record, 0, len(listed))
	for i := range listed {
		t := &listed[i]
		records = append(records, record{
			Name: t.Tool.Name, Description: t.Tool.Description, InputSchema: t.Tool.InputSchema, OutputSchema: orNull(t.Tool.OutputSchema),
			Metadata: metadata{
				Module: doc.Server.Name, Destructive: !t.Effective.ReadOnly, CacheTTL: doc.Policy.Discovery.TTLSeconds,
				DeprecatedIn: optional(t.Registry.DeprecatedIn), Version: optional(t.Registry.Version),
			},
		})
	}
	return records, nil
}

func orNull(raw []byte) json.RawMessage {
	if raw == nil {
		return json.RawMessage("null")
	}
	return raw
}

func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func (h *Handler) tools(w http.ResponseWriter, r *http.Request) {
	records, refusal := h.records()
	if refusal != nil {
		h.reject(w, r, refusal.Kind.HTTPREST(), refusal)
		return
	}
	h.write(w, http.StatusOK, toolList{Tools: records})
}

func (h *Handler) tool(w http.ResponseWriter, r *http.Request) {
	records, refusal := h.records()
	if refusal != nil {
		h.reject(w, r, refusal.Kind.HTTPREST(), refusal)
		return
	}
	name := h.trueName(r.PathValue("name"))
	for _, rec := range records {
		if rec.Name == name {
			h.write(w, http.StatusOK, rec)
			return
		}
	}
	h.reject(w, r, policy.ToolNotFound.HTTPREST(), &policy.Refusal{Kind: policy.ToolNotFound, Reason: "UnknownTool",
		Message: "No such tool. GET /api/mcp/tools names those that there are."})
}

// trueName gives the tool's own name for one that may be qualified.
func (h *Handler) trueName(name string) string {
	if e := h.Pipeline.Engine(); e != nil {
		return e.TrueName(name)
	}
	return name
}
