// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"toolgate.dev/toolgate/internal/jsonrpc"
)

// Supported are the document versions that a dispatcher of this release reads: Decode those of one piece, package shard those
// in shards.
func Supported() []int { return []int{Version, VersionSharded} }

// whole are the versions of documents of one piece.
func whole() []int { return []int{Version} }

// Decode reads an encoded document strictly: an unknown or repeated member, a member in another case, null, trailing data,
// another version or a value outside its range is an error that names the member and says what would be right. A document
// that is not understood whole might hold a restriction that would be dropped, so nothing is skipped.
func Decode(data []byte) (*Document, error) {
	if len(data) > MaxBytes {
		return nil, fmt.Errorf("registry document: %d bytes, at most %d are read", len(data), MaxBytes)
	}
	if err := checkVersion(data); err != nil {
		return nil, fmt.Errorf("registry document: %w", err)
	}
	var d Document
	if err := Strict(data, &d, MaxBytes); err != nil {
		return nil, fmt.Errorf("registry document: %w", err)
	}
	if err := d.Validate(); err != nil {
		return nil, fmt.Errorf("registry document: %w", err)
	}
	return &d, nil
}

// Strict reads JSON text of at most maxBytes into what into points to, with the strictness of Decode: nothing unknown, repeated,
// in another case, null or trailing passes, at any depth. The values themselves are not looked at.
func Strict(data []byte, into any, maxBytes int) error {
	if err := checkMembers(data, into, maxBytes); err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return plain(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("data after the end of the document")
	}
	return nil
}

// checkVersion goes first: of a document of another version, no other member is worth a message.
func checkVersion(data []byte) error {
	if raw, _ := jsonrpc.Member(data, "version"); string(raw) == strconv.Itoa(Version) {
		return nil // as nearly always; what else there is to say of the document comes next
	}
	var head struct {
		Version *int `json:"version"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return plain(err)
	}
	switch {
	case head.Version == nil:
		return fmt.Errorf("member version is missing; this release reads version %d", Version)
	case *head.Version == VersionSharded:
		return fmt.Errorf("version %d is the root of a document in shards: read the directory that holds them all", VersionSharded)
	case !slices.Contains(whole(), *head.Version):
		return fmt.Errorf("version %d is not one that this release reads: %v", *head.Version, Supported())
	}
	return nil
}

// plain turns errors of encoding/json into words about the document rather than about Go types.
func plain(err error) error {
	var typ *json.UnmarshalTypeError
	if errors.As(err, &typ) {
		return fmt.Errorf("member %s at byte %d: %s does not fit, %s is wanted", memberPath(typ.Field), typ.Offset, typ.Value, typ.Type)
	}
	var syn *json.SyntaxError
	if errors.As(err, &syn) {
		return fmt.Errorf("not JSON at byte %d: %w", syn.Offset, err)
	}
	return fmt.Errorf("not JSON: %w", err)
}

// memberPath leaves out what embedding adds.
func memberPath(field string) string {
	if field == "" {
		return "(root)"
	}
	return strings.TrimPrefix(field, "Document.")
}
