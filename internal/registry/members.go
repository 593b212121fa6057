// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"toolgate.dev/toolgate/internal/jsonrpc"
)

var rawMessage = reflect.TypeFor[json.RawMessage]()

// memberError says what is wrong with one member. It gathers the path to it on its way up, since nearly every document has
// no such member.
type memberError struct {
	path string // RFC 6901
	text string
}

func (e *memberError) Error() string {
	if e.path == "" {
		return "member (root) " + e.text
	}
	return "member " + e.path + " " + e.text
}

func (e *memberError) within(token string) *memberError {
	e.path = "/" + jsonrpc.EscapeToken(token) + e.path
	return e
}

// checkMembers walks JSON text beside the Go type that will hold it, because encoding/json takes the last of two equal
// members, folds case and lets null pass. Every one of these could hide a restriction.
func checkMembers(data []byte, into any, maxBytes int) error {
	if err := jsonrpc.Check(data, jsonrpc.Limits{MaxBytes: maxBytes}); err != nil {
		var syntax *jsonrpc.SyntaxError
		if errors.As(err, &syntax) && syntax.Cause == jsonrpc.CauseDuplicateKey {
			return &memberError{path: syntax.Path, text: "is there twice"}
		}
		return fmt.Errorf("not JSON: %w", err)
	}
	if err := walk(data, reflect.TypeOf(into)); err != nil {
		return err
	}
	return nil
}

// walk looks at one value. A nil type (inside a json.RawMessage) takes any member.
func walk(raw []byte, typ reflect.Type) *memberError {
	typ = indirect(typ)
	switch {
	case typ == nil:
		return nil
	case jsonrpc.IsNull(raw):
		return &memberError{text: "is null; leave it out instead"}
	case jsonrpc.IsObject(raw):
		return walkObject(raw, typ)
	case jsonrpc.IsArray(raw):
		return walkArray(raw, typ)
	}
	return nil
}

func walkObject(raw []byte, typ reflect.Type) *memberError {
	for name, value := range jsonrpc.Members(raw) {
		member, err := memberType(typ, name)
		if err == nil {
			err = walk(value, member)
		}
		if err != nil {
			return err.within(name)
		}
	}
	return nil
}

func walkArray(raw []byte, typ reflect.Type) *memberError {
	if typ.Kind() != reflect.Slice {
		return nil // the decoder's own error is better
	}
	i := 0
	for element := range jsonrpc.Elements(raw) {
		if err := walk(element, typ.Elem()); err != nil {
			return err.within(strconv.Itoa(i))
		}
		i++
	}
	return nil
}

// memberType is the type of one member of typ; nil means that anything goes below it. A type that is no object is left to
// the decoder's own error.
func memberType(typ reflect.Type, name string) (reflect.Type, *memberError) {
	switch typ.Kind() {
	case reflect.Map:
		return typ.Elem(), nil
	case reflect.Struct:
	default:
		return nil, nil
	}
	fields := fieldsOf(typ)
	if member, known := fields[name]; known {
		return member, nil
	}
	for tag := range fields {
		if strings.EqualFold(tag, name) {
			return nil, &memberError{text: fmt.Sprintf("is unknown; did you mean %q?", tag)}
		}
	}
	return nil, &memberError{text: "is unknown"}
}

var fieldTypes sync.Map // reflect.Type -> map[string]reflect.Type

// fieldsOf are the members of a struct by their names in JSON.
func fieldsOf(typ reflect.Type) map[string]reflect.Type {
	if known, ok := fieldTypes.Load(typ); ok {
		return known.(map[string]reflect.Type)
	}
	fields := make(map[string]reflect.Type, typ.NumField())
	for i := range typ.NumField() {
		field := typ.Field(i)
		tag, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		fields[tag] = field.Type
	}
	fieldTypes.Store(typ, fields)
	return fields
}

func indirect(typ reflect.Type) reflect.Type {
	if typ == nil || typ == rawMessage {
		return nil
	}
	if typ.Kind() == reflect.Pointer {
		return typ.Elem()
	}
	return typ
}
