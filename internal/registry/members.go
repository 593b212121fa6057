// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

var rawMessage = reflect.TypeFor[json.RawMessage]()

// checkMembers walks JSON text beside the Go type that will hold it, because encoding/json takes the last of two equal
// members, folds case and lets null pass. Every one of these could hide a restriction.
func checkMembers(data []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	return walk(dec, reflect.TypeOf(into), "")
}

// walk consumes one value. A nil type (inside a json.RawMessage) takes any member, but none twice.
func walk(dec *json.Decoder, typ reflect.Type, path string) error {
	token, err := dec.Token()
	if err != nil {
		return plain(err)
	}
	typ = indirect(typ)
	switch token {
	case nil:
		if typ != nil {
			return fmt.Errorf("member %s is null; leave it out instead", orRoot(path))
		}
		return nil
	case json.Delim('{'):
		return walkObject(dec, typ, path)
	case json.Delim('['):
		return walkArray(dec, typ, path)
	default:
		return nil
	}
}

func walkObject(dec *json.Decoder, typ reflect.Type, path string) error {
	seen := map[string]bool{}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return plain(err)
		}
		name, _ := token.(string)
		at := path + "/" + escape(name)
		if seen[name] {
			return fmt.Errorf("member %s is there twice", at)
		}
		seen[name] = true
		member, err := memberType(typ, name, at)
		if err != nil {
			return err
		}
		if err := walk(dec, member, at); err != nil {
			return err
		}
	}
	_, err := dec.Token()
	return wrapEnd(err)
}

func walkArray(dec *json.Decoder, typ reflect.Type, path string) error {
	var elem reflect.Type
	if typ != nil && typ.Kind() == reflect.Slice {
		elem = typ.Elem()
	}
	for i := 0; dec.More(); i++ {
		if err := walk(dec, elem, path+"/"+strconv.Itoa(i)); err != nil {
			return err
		}
	}
	_, err := dec.Token()
	return wrapEnd(err)
}

// memberType is the type of one member of typ; nil means that anything goes below it. A type that is no object is left to
// the decoder's own error.
func memberType(typ reflect.Type, name, at string) (reflect.Type, error) {
	switch {
	case typ == nil:
		return nil, nil
	case typ.Kind() == reflect.Map:
		return typ.Elem(), nil
	case typ.Kind() != reflect.Struct:
		return nil, nil
	}
	for i := range typ.NumField() {
		field := typ.Field(i)
		tag, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if tag == name {
			return field.Type, nil
		}
		if strings.EqualFold(tag, name) {
			return nil, fmt.Errorf("member %s is unknown; did you mean %q?", at, tag)
		}
	}
	return nil, fmt.Errorf("member %s is unknown", at)
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

func wrapEnd(err error) error {
	if err != nil {
		return plain(err)
	}
	return nil
}

// escape writes a member name as a reference token of RFC 6901.
func escape(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

func orRoot(path string) string {
	if path == "" {
		return "(root)"
	}
	return path
}
