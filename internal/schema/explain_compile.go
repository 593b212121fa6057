// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/schema/violation"
)

// errExternal is what the library gets for every document but the metaschemas that it embeds.
var errExternal = errors.New("outside the schema")

// denyLoader loads nothing: a schema comes from a server that nobody trusts, and a reference would make us read files or
// the network for it.
type denyLoader struct{}

func (denyLoader) Load(string) (any, error) { return nil, errExternal }

// explain turns an error of the library into ours. The library's texts quote its own URLs, so none is passed on.
func (o *outline) explain(err error) *CompileError {
	var (
		load    *jsonschema.LoadURLError
		pointer *jsonschema.JSONPointerNotFoundError
		anchor  *jsonschema.AnchorNotFoundError
		pattern *jsonschema.InvalidRegexError
		meta    *jsonschema.SchemaValidationError
		draft   *jsonschema.UnsupportedDraftError
		vocab   *jsonschema.UnsupportedVocabularyError
		dupID   *jsonschema.DuplicateIDError
		dupName *jsonschema.DuplicateAnchorError
	)
	switch {
	case errors.As(err, &meta):
		return explainMeta(meta)
	case errors.As(err, &load):
		return o.explainLoad(load.URL)
	case errors.As(err, &pointer):
		return o.dangling(pointer.URL)
	case errors.As(err, &anchor):
		return o.dangling(anchor.Reference)
	case errors.As(err, &pattern):
		return &CompileError{Path: schemaPointer(pattern.URL), Reason: ReasonPattern, Message: badPattern(pattern.Err)}
	case errors.As(err, &draft):
		return unsupportedDialect("/$schema", draft.URL)
	case errors.As(err, &vocab):
		return unsupportedDialect("/$schema", vocab.Vocabulary)
	case errors.As(err, &dupID):
		return &CompileError{Path: dupID.Ptr1, Reason: ReasonInvalid, Message: fmt.Sprintf("has the same id as the subschema at %q", dupID.Ptr2)}
	case errors.As(err, &dupName):
		return &CompileError{Path: dupName.Ptr1, Reason: ReasonInvalid, Message: fmt.Sprintf("has the same anchor as the subschema at %q", dupName.Ptr2)}
	default:
		return &CompileError{Reason: ReasonInvalid, Message: "has an id, an anchor or a reference that is no valid URI reference"}
	}
}

// explainMeta tells the first reason why the metaschema refuses a schema.
func explainMeta(meta *jsonschema.SchemaValidationError) *CompileError {
	var failed *jsonschema.ValidationError
	if !errors.As(meta.Err, &failed) {
		return &CompileError{Path: schemaPointer(meta.URL), Reason: ReasonInvalid, Message: "is not a valid schema"}
	}
	if path, cause := badRegex(failed); cause != nil {
		return &CompileError{Path: schemaPointer(meta.URL) + path, Reason: ReasonPattern, Message: badPattern(cause)}
	}
	vs := violation.Of(failed, &graph{})
	if len(vs) == 0 {
		return &CompileError{Path: schemaPointer(meta.URL), Reason: ReasonInvalid, Message: "is not a valid schema"}
	}
	message := vs[0].Message
	if vs[0].Expected != "" {
		message += "; expected " + vs[0].Expected
	}
	return &CompileError{Path: schemaPointer(meta.URL) + vs[0].Path, Reason: ReasonInvalid, Message: message}
}

// badRegex finds a pattern that the metaschema's `format: regex` refused.
func badRegex(e *jsonschema.ValidationError) (path string, cause error) {
	if f, ok := e.ErrorKind.(*kind.Format); ok && f.Want == "regex" {
		return violation.Pointer(e.InstanceLocation), f.Err
	}
	for _, c := range e.Causes {
		if path, cause := badRegex(c); cause != nil {
			if names, ok := e.ErrorKind.(*kind.PropertyNames); ok {
				return violation.Pointer(e.InstanceLocation) + "/" + jsonrpc.EscapeToken(names.Property), cause
			}
			return path, cause
		}
	}
	return "", nil
}

// explainLoad tells a dialect from a reference: both are documents to the library.
func (o *outline) explainLoad(target string) *CompileError {
	for _, d := range o.dialects {
		if strings.TrimSuffix(d.text, "#") == target {
			return unsupportedDialect(d.path, d.text)
		}
	}
	ref := o.findRef(target)
	return &CompileError{Path: ref.path, Reason: ReasonExternalRef, Message: fmt.Sprintf(
		"refers to %s, which is not in the schema; nothing is fetched: put it under $defs", violation.Quote(ref.text))}
}

func (o *outline) dangling(target string) *CompileError {
	_, fragment, _ := strings.Cut(target, "#")
	return &CompileError{Path: o.findRef(target).path, Reason: ReasonDanglingRef, Message: fmt.Sprintf(
		"refers to %s, which is not in the schema", violation.Quote("#"+unescapeFragment(fragment)))}
}

func badPattern(cause error) string {
	return "is a regular expression that can't be used: " + cause.Error()
}

// escapeFragment writes a pointer as a URL's fragment, as the library parses it.
func escapeFragment(pointer string) string {
	tokens := strings.Split(pointer, "/")
	for i, t := range tokens {
		tokens[i] = url.PathEscape(t)
	}
	return strings.Join(tokens, "/")
}

func unescapeFragment(fragment string) string {
	plain, err := url.PathUnescape(fragment)
	if err != nil {
		return fragment
	}
	return plain
}
