// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"toolgate.dev/toolgate/internal/catalog"
	"toolgate.dev/toolgate/internal/dispatcher/policy"
	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/jsonrpc"
)

// View is a catalogue as policy looks at it. A tool whose definition cannot be served is not in it.
func View(c *upstream.Catalogue) policy.View { return view{c} }

type view struct{ *upstream.Catalogue }

func (v view) Lookup(name string) (catalog.Tool, bool) {
	for i := range v.Tools {
		if t := &v.Tools[i]; t.Name == name {
			return t.Tool, t.Err == nil
		}
	}
	return catalog.Tool{}, false
}

// complete says whether a modern result is the whole answer: this release declares none of the capabilities that would
// allow another resultType.
func complete(result []byte) bool {
	raw, ok := jsonrpc.Member(result, "resultType")
	if result == nil || !ok {
		return true
	}
	kind, _ := jsonrpc.String(raw)
	return kind == "complete"
}

func isErrorResult(result []byte) bool {
	raw, _ := jsonrpc.Member(result, "isError")
	value, _ := jsonrpc.Bool(raw)
	return value
}
