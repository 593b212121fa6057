// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"errors"
	"fmt"

	"toolgate.dev/toolgate/internal/jsonrpc"
)

// What is wrong with a definition, for errors.Is.
var (
	// ErrNoInputSchema says that a tool has no inputSchema, or null for it.
	ErrNoInputSchema = errors.New("no input schema")
	// ErrInvalidSchema says that a schema is no object, or that the root of an inputSchema does not say "type": "object".
	ErrInvalidSchema = errors.New("invalid schema")
	// ErrInvalidDefinition says that another member is missing or has a type that MCP does not give it.
	ErrInvalidDefinition = errors.New("invalid tool definition")
)

// MemberError names the member of a tool definition, or of a page of a tool list, that is wrong. It wraps ErrNoInputSchema,
// ErrInvalidSchema or ErrInvalidDefinition.
type MemberError struct {
	Path   string // JSON Pointer (RFC 6901) from the definition's root; "" is the definition itself
	Reason string // what is wrong and what would be right

	kind error
}

// Error gives the kind, the path and the reason.
func (e *MemberError) Error() string {
	if e.Path == "" {
		return fmt.Sprintf("%v: %s", e.kind, e.Reason)
	}
	return fmt.Sprintf("%v (%s): %s", e.kind, e.Path, e.Reason)
}

// Unwrap returns the kind.
func (e *MemberError) Unwrap() error { return e.kind }

// Annotations are a server's hints about one tool (MCP, ToolAnnotations). A nil hint was not given. They are the server's
// word: nothing may be loosened on them unless the server is trusted.
type Annotations struct {
	Title                                        string
	ReadOnly, Destructive, Idempotent, OpenWorld *bool
}

// Tool is one tool definition.
type Tool struct {
	Name         string
	Title        string // "" if absent
	Description  string // "" if absent
	Annotations  Annotations
	InputSchema  []byte // JSON object
	OutputSchema []byte // JSON object, nil if absent
	Digest       string // see Digest
	Definition   []byte // the whole definition as the server wrote it
	TaskRequired bool   // execution.taskSupport is "required": the tool can only be called as a task
}

// ParseTool reads one element of the tools of a tools/list result. The slices of the Tool alias def.
//
// The error names the member that is wrong: a *MemberError, or a wrapped *jsonrpc.SyntaxError. The Tool then holds
// whatever could be read, in particular Name, Digest and Definition, so that the tool can be reported and withheld.
// Optional members that are null count as absent; members that MCP does not define are ignored here, but digested.
func ParseTool(def []byte) (Tool, error) {
	t := Tool{Definition: def}
	digest, err := Digest(def)
	if err != nil {
		return t, err
	}
	t.Digest = digest
	r := reader{}
	root := r.object("", def, toolKeys)
	if root == nil {
		return t, r.first()
	}
	t.Name = r.text("/name", root["name"])
	t.Title = r.text("/title", root["title"])
	t.Description = r.text("/description", root["description"])
	t.Annotations = r.annotations(root["annotations"])
	t.TaskRequired = r.taskRequired(root["execution"])
	t.InputSchema = r.inputSchema(root["inputSchema"])
	t.OutputSchema = r.schema("/outputSchema", root["outputSchema"])
	if t.Name == "" {
		r.fail(ErrInvalidDefinition, "/name", "a tool must have a name that is a string of one character or more")
	}
	return t, r.first()
}

// ParseTools reads the result of tools/list: the definitions of one page, in their order, and the cursor of the next page,
// "" after the last. The slices alias result. The error is a *MemberError or a wrapped *jsonrpc.SyntaxError.
func ParseTools(result []byte) (defs [][]byte, nextCursor string, err error) {
	if err := jsonrpc.Check(result, jsonrpc.Limits{}); err != nil {
		return nil, "", fmt.Errorf("reading a tool list: %w", err)
	}
	r := reader{}
	page := r.object("", result, pageKeys)
	if !jsonrpc.IsArray(page["tools"]) {
		r.fail(ErrInvalidDefinition, "/tools", "a tool list must have an array of tools, which may be empty")
	}
	nextCursor = r.text("/nextCursor", page["nextCursor"])
	if err := r.first(); err != nil {
		return nil, "", err
	}
	for def := range jsonrpc.Elements(page["tools"]) {
		defs = append(defs, def)
	}
	return defs, nextCursor, nil
}
