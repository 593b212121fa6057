// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"bytes"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/catalog"
	"toolgate.dev/toolgate/internal/registry"
)

// observed shows a definition, as far as MaxShown… and the API server go: the digest covers the whole of it; this is for reading. One that is shown
// already stays as it is: the API server gives schemas back with their members in another order, and comparing them would
// write for ever.
func observed(last *mcpv1alpha1.ObservedTool, def *registry.ObservedTool, variants int) *mcpv1alpha1.ObservedTool {
	if last != nil && last.Digest == def.Digest {
		last.Variants = int32(variants)
		return last
	}
	// A definition that can't be read whole still gives what could be read.
	tool, _ := catalog.ParseTool(def.Definition)
	out := &mcpv1alpha1.ObservedTool{
		Title:       Clip(tool.Title, mcpv1alpha1.MaxShownTitle),
		Description: Clip(tool.Description, mcpv1alpha1.MaxShownDescription),
		Digest:      def.Digest,
		Variants:    int32(variants),
	}
	if tool.Title == "" {
		out.Title = Clip(tool.Annotations.Title, mcpv1alpha1.MaxShownTitle)
	}
	a := mcpv1alpha1.ToolAnnotations{
		ReadOnly: annotation(tool.Annotations.ReadOnly), Destructive: annotation(tool.Annotations.Destructive),
		Idempotent: annotation(tool.Annotations.Idempotent), OpenWorld: annotation(tool.Annotations.OpenWorld),
	}
	if a != (mcpv1alpha1.ToolAnnotations{}) {
		out.Annotations = &a
	}
	out.InputSchema = shown(out, "inputSchema", tool.InputSchema)
	out.OutputSchema = shown(out, "outputSchema", tool.OutputSchema)
	return out
}

func shown(out *mcpv1alpha1.ObservedTool, member string, raw []byte) *runtime.RawExtension {
	switch {
	case raw == nil || raw[0] != '{':
		return nil
	case len(raw) > mcpv1alpha1.MaxShownSchema, !storable(raw):
		out.SchemaOmitted = append(out.SchemaOmitted, member)
		return nil
	default:
		// A copy: a client that decodes the API server's answer into the object writes over these bytes, and the definition is what
		// tools are judged by.
		return &runtime.RawExtension{Raw: bytes.Clone(raw)}
	}
}

// storable says whether the API server can read a value, and not refuse all of the object that holds it: a number beyond
// float64, which schemas may well have, is nothing to it.
func storable(raw []byte) bool {
	var value any
	return json.Unmarshal(raw, &value) == nil
}

func annotation(b *bool) mcpv1alpha1.Hint {
	if b == nil {
		return ""
	}
	return HintOf(*b)
}

// HintOf is a boolean as a hint.
func HintOf(b bool) mcpv1alpha1.Hint {
	if b {
		return mcpv1alpha1.HintTrue
	}
	return mcpv1alpha1.HintFalse
}

// Clip bounds a text to so many bytes, at a rune's end. What servers write can be long, and can be anything.
func Clip(text string, limit int) string {
	text = strings.ToValidUTF8(text, "?")
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit-3], "") + "..."
}
