// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package streamable

import (
	"context"
	"errors"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/link"
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/mcp"
	"toolgate.dev/toolgate/internal/registry"
)

// mirror gives the headers that mirror the body, as revision 2026-07-28 asks of clients (Transports, streamable HTTP).
func (w *wire) mirror(ctx context.Context, p *link.Call) (map[string]string, error) {
	if !w.modern() {
		return nil, nil
	}
	headers := map[string]string{mcp.HeaderMethod: p.Method}
	key := mcp.TargetKey(p.Method)
	raw, _ := jsonrpc.Member(p.Params, key)
	name, ok := jsonrpc.String(raw)
	if key == "" || !ok {
		return headers, nil
	}
	headers[mcp.HeaderName] = mcp.EncodeHeader(name)
	if p.Method != mcp.MethodCallTool {
		return headers, nil
	}
	return headers, w.mirrorArguments(ctx, name, p.Params, headers)
}

// mirrorArguments adds the headers that the tool's schema asks for.
func (w *wire) mirrorArguments(ctx context.Context, name string, params []byte, headers map[string]string) error {
	catalogue, err := w.conn.Catalogue(ctx)
	if err != nil {
		return err
	}
	for _, tool := range catalogue.Tools {
		if tool.Name != name {
			continue
		}
		arguments, _ := jsonrpc.Member(params, "arguments")
		if err := (&mirroring{headers}).walk(tool.InputSchema, arguments); err != nil {
			return upstream.Fail(registry.FailCatalogue, err, "The tool cannot be called over streamable HTTP: %s.", err)
		}
	}
	return nil
}

// mirroring collects the headers of one call of a tool that has been vetted.
type mirroring struct{ headers map[string]string }

// walk goes through the properties of a schema, and adds a header for each that is annotated and has a value.
func (m *mirroring) walk(schema, value []byte) error {
	properties, _ := jsonrpc.Member(schema, "properties")
	for property, sub := range jsonrpc.Members(properties) {
		inner, present := jsonrpc.Member(value, property)
		if !present {
			continue
		}
		if raw, annotated := jsonrpc.Member(sub, mcp.KeyParamHeader); annotated {
			name, _ := jsonrpc.String(raw)
			if err := m.add(name, inner); err != nil {
				return err
			}
		}
		if err := m.walk(sub, inner); err != nil {
			return err
		}
	}
	return nil
}

func (m *mirroring) add(name string, value []byte) error {
	switch {
	case jsonrpc.IsNull(value):
		return nil
	case jsonrpc.IsObject(value), jsonrpc.IsArray(value):
		return errors.New("an argument that a header mirrors must be a string, a whole number or a boolean")
	}
	text, ok := jsonrpc.String(value)
	if !ok {
		text = string(value)
	}
	m.headers[mcp.HeaderParamPrefix+name] = mcp.EncodeHeader(text)
	return nil
}
