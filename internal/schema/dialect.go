// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"toolgate.dev/toolgate/internal/schema/violation"
)

// dialect is one version of JSON Schema.
type dialect struct {
	name  string // as Schema.Dialect gives it
	uri   string // of its metaschema, without scheme and fragment
	draft *jsonschema.Draft
}

var dialects = []dialect{
	{"2020-12", "json-schema.org/draft/2020-12/schema", jsonschema.Draft2020},
	{"2019-09", "json-schema.org/draft/2019-09/schema", jsonschema.Draft2019},
	{"draft-07", "json-schema.org/draft-07/schema", jsonschema.Draft7},
	{"draft-06", "json-schema.org/draft-06/schema", jsonschema.Draft6},
	{"draft-04", "json-schema.org/draft-04/schema", jsonschema.Draft4},
}

// dialectNamed finds the dialect that a $schema names. http and https, with and without an empty fragment, are the same.
func dialectNamed(uri string) (dialect, bool) {
	uri = strings.TrimSuffix(uri, "#")
	uri = strings.TrimPrefix(strings.TrimPrefix(uri, "https://"), "http://")
	for _, d := range dialects {
		if d.uri == uri {
			return d, true
		}
	}
	return dialect{}, false
}

// chooseDialect takes the root's $schema, else what the schema's own keywords betray, else 2020-12, MCP's default since
// revision 2025-11-25 (SEP-1613).
func chooseDialect(doc any, o *outline, opts Options) (dialect, *CompileError) {
	obj, _ := doc.(map[string]any)
	declared, hasDialect := obj["$schema"].(string)
	if hasDialect {
		if d, known := dialectNamed(declared); known {
			return d, nil
		}
		if opts.loader == nil {
			return dialect{}, unsupportedDialect("/$schema", declared)
		}
	}
	switch {
	case opts.defaultDialect != "":
		d, _ := dialectNamed(opts.defaultDialect)
		return d, nil
	case o.draft04:
		return dialects[4], nil
	case o.draft07:
		return dialects[2], nil
	default:
		return dialects[0], nil
	}
}

func unsupportedDialect(path, uri string) *CompileError {
	names := make([]string, 0, len(dialects))
	for _, d := range dialects {
		names = append(names, d.name)
	}
	return &CompileError{Path: path, Reason: ReasonUnsupportedDialect, Message: fmt.Sprintf(
		"names the dialect %s, which is not read; leave $schema out, or use one of %s", violation.Quote(uri), strings.Join(names, ", "))}
}
