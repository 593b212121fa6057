// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"errors"
	"fmt"

	"toolgate.dev/toolgate/internal/jsonrpc"
)

// The keys that MCP gives a meaning, of any revision.
var (
	pageKeys       = protocolKeys("tools", "nextCursor")
	toolKeys       = protocolKeys("name", "title", "description", "icons", "inputSchema", "outputSchema", "annotations", "execution", "_meta")
	annotationKeys = protocolKeys("title", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
	executionKeys  = protocolKeys("taskSupport")
)

// protocolKeys maps the fold of each key to the key.
func protocolKeys(keys ...string) map[string]string {
	m := make(map[string]string, len(keys))
	for _, key := range keys {
		m[jsonrpc.Fold(key)] = key
	}
	return m
}

// reader reads the members of a definition and collects what is wrong with them.
type reader struct {
	errs []*MemberError
}

func (r *reader) fail(kind error, path, reason string) {
	r.errs = append(r.errs, &MemberError{Path: path, Reason: reason, kind: kind})
}

// first returns the first error. A missing input schema goes before all others: it has a reason of its own in a status.
func (r *reader) first() error {
	for _, err := range r.errs {
		if errors.Is(err, ErrNoInputSchema) {
			return err
		}
	}
	if len(r.errs) > 0 {
		return r.errs[0]
	}
	return nil
}

// object returns the members of a checked object that known names. A null member counts as absent. A key that differs from
// a known one by case alone is an error: clients that ignore case would read it, and see another tool than Toolgate does.
func (r *reader) object(path string, raw []byte, known map[string]string) map[string][]byte {
	if !jsonrpc.IsObject(raw) {
		r.fail(ErrInvalidDefinition, path, "must be an object")
		return nil
	}
	members := make(map[string][]byte, len(known))
	for key, value := range jsonrpc.Members(raw) {
		switch name, ok := known[jsonrpc.Fold(key)]; {
		case !ok:
		case name != key:
			r.fail(ErrInvalidDefinition, path+"/"+key, fmt.Sprintf("the key differs only in case from %q", name))
		case !jsonrpc.IsNull(value):
			members[key] = value
		}
	}
	return members
}

// text reads an optional string.
func (r *reader) text(path string, raw []byte) string {
	if raw == nil {
		return ""
	}
	s, ok := jsonrpc.String(raw)
	if !ok {
		r.fail(ErrInvalidDefinition, path, "must be a string")
	}
	return s
}

// hint reads an optional boolean.
func (r *reader) hint(path string, raw []byte) *bool {
	if raw == nil {
		return nil
	}
	v, ok := jsonrpc.Bool(raw)
	if !ok {
		r.fail(ErrInvalidDefinition, path, "must be true or false")
		return nil
	}
	return &v
}

func (r *reader) annotations(raw []byte) Annotations {
	if raw == nil {
		return Annotations{}
	}
	m := r.object("/annotations", raw, annotationKeys)
	return Annotations{
		Title:       r.text("/annotations/title", m["title"]),
		ReadOnly:    r.hint("/annotations/readOnlyHint", m["readOnlyHint"]),
		Destructive: r.hint("/annotations/destructiveHint", m["destructiveHint"]),
		Idempotent:  r.hint("/annotations/idempotentHint", m["idempotentHint"]),
		OpenWorld:   r.hint("/annotations/openWorldHint", m["openWorldHint"]),
	}
}

// taskRequired reads execution.taskSupport (MCP 2025-11-25, Tasks).
func (r *reader) taskRequired(raw []byte) bool {
	if raw == nil {
		return false
	}
	const path = "/execution/taskSupport"
	support := r.object("/execution", raw, executionKeys)["taskSupport"]
	switch r.text(path, support) {
	case "required":
		return true
	case "optional", "forbidden":
		return false
	}
	if jsonrpc.IsString(support) {
		r.fail(ErrInvalidDefinition, path, "must be required, optional or forbidden")
	}
	return false
}

// schema reads an optional JSON Schema, of which it holds only that it is an object.
func (r *reader) schema(path string, raw []byte) []byte {
	if raw != nil && !jsonrpc.IsObject(raw) {
		r.fail(ErrInvalidSchema, path, "a schema must be an object")
		return nil
	}
	return raw
}

// inputSchema reads the schema of the arguments; MCP demands that its root says "type": "object".
func (r *reader) inputSchema(raw []byte) []byte {
	if raw == nil {
		r.fail(ErrNoInputSchema, "/inputSchema", `a tool must have one; {"type":"object"} accepts any arguments`)
		return nil
	}
	if raw = r.schema("/inputSchema", raw); raw == nil {
		return nil
	}
	kind, _ := jsonrpc.Member(raw, "type")
	if s, _ := jsonrpc.String(kind); s != "object" {
		r.fail(ErrInvalidSchema, "/inputSchema/type", `the root of an input schema must say "type": "object"`)
	}
	return raw
}
