// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package streamable

import (
	"fmt"
	"regexp"
	"strings"

	"toolgate.dev/toolgate/internal/catalog"
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/mcp"
)

// Vet refuses a schema whose annotations ask for headers that could not be sent: a client over streamable HTTP must leave such
// a tool alone (2026-07-28, Transports, Custom Headers from Tool Parameters). Servers of older revisions may use the
// key as they like.
func (w *wire) Vet(inputSchema []byte) error {
	if !w.modern() {
		return nil
	}
	v := vetting{taken: map[string]bool{}}
	return v.schema(inputSchema, "/inputSchema", onlyProperties)
}

// reach says how an annotation was come to. Only a chain of properties leads from a schema to the one value that a header
// can mirror.
type reach int

const (
	onlyProperties reach = iota // and this is the root
	property
	elsewhere
)

// vetting goes through one input schema.
type vetting struct{ taken map[string]bool } // names in lower case

// token is a field name (RFC 9110, section 5.1).
var token = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$")

// Keywords whose value holds no schema, and those whose value is an object of schemas under free names.
var (
	plainKeywords = map[string]bool{"const": true, "default": true, "enum": true, "examples": true, "example": true, "required": true}
	mapKeywords   = map[string]bool{"patternProperties": true, "$defs": true, "definitions": true, "dependentSchemas": true, "dependencies": true}
)

func (v *vetting) schema(schema []byte, path string, how reach) error {
	for key, value := range jsonrpc.Members(schema) {
		var err error
		at := path + "/" + jsonrpc.EscapeToken(key)
		switch {
		case key == mcp.KeyParamHeader:
			err = v.annotation(schema, value, path, how)
		case plainKeywords[key]:
		case key == "properties":
			next := property
			if how == elsewhere {
				next = elsewhere
			}
			err = v.named(value, at, next)
		case mapKeywords[key]:
			err = v.named(value, at, elsewhere)
		default:
			err = v.nested(value, at)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (v *vetting) named(schemas []byte, path string, how reach) error {
	for name, sub := range jsonrpc.Members(schemas) {
		if err := v.schema(sub, path+"/"+jsonrpc.EscapeToken(name), how); err != nil {
			return err
		}
	}
	return nil
}

// nested takes the value of any other keyword: a schema, or an array of them. A keyword that is not known may hold one.
func (v *vetting) nested(value []byte, path string) error {
	for element := range jsonrpc.Elements(value) {
		if err := v.nested(element, path); err != nil {
			return err
		}
	}
	return v.schema(value, path, elsewhere)
}

func (v *vetting) annotation(schema, raw []byte, path string, how reach) error {
	fault := func(format string, args ...any) error {
		return fmt.Errorf("%w (%s/%s): %s", catalog.ErrInvalidSchema, path, mcp.KeyParamHeader, fmt.Sprintf(format, args...))
	}
	if how != property {
		return fault("only a property that is reached from the root through properties alone can be mirrored in a header")
	}
	name, ok := jsonrpc.String(raw)
	if !ok || !token.MatchString(name) {
		return fault("it must be the name of an HTTP header: letters, digits and hyphens, not empty")
	}
	key := strings.ToLower(name)
	if v.taken[key] {
		return fault("another property has the same header, %s", name)
	}
	v.taken[key] = true
	kind, _ := jsonrpc.Member(schema, "type")
	switch word, _ := jsonrpc.String(kind); word {
	case "string", "integer", "boolean":
		return nil
	}
	return fault("the property's type must be string, integer or boolean")
}
