// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"encoding/base64"
	"sort"
	"strings"

	"toolgate.dev/toolgate/internal/dispatcher/policy"
	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/jsonrpc"
)

// pageSize is how many tools one page of tools/list holds: more than any server in the field has, since many clients read
// the first page only.
const pageSize = 500

// cursorPrefix tells our cursors from others; what follows is the name after which the page begins.
const cursorPrefix = "after:"

// Listing is what clients see of a catalogue.
func (p *Pipeline) Listing(c *upstream.Catalogue) []policy.ListedTool {
	engine := p.engine.Load()
	if engine == nil || c == nil {
		return nil
	}
	return engine.Listing(View(c), p.Trusted(engine))
}

// list answers tools/list: the tools of the registry that this catalogue holds as admitted.
func (x *exchange) list(c *upstream.Catalogue) Answer {
	if c == nil {
		return Answer{Refusal: NotRead()}
	}
	after, refusal := pageStart(x.Cursor)
	if refusal != nil {
		return Answer{Refusal: refusal}
	}
	tools := x.engine.Listing(View(c), x.trusted)
	tools = tools[sort.Search(len(tools), func(i int) bool { return tools[i].Tool.Name > after }):]
	if len(tools) <= pageSize {
		return Answer{Result: page(tools, "")}
	}
	tools = tools[:pageSize]
	return Answer{Result: page(tools, tools[pageSize-1].Tool.Name)}
}

// NotRead is the refusal of what needs a catalogue before there is one.
func NotRead() *policy.Refusal {
	return &policy.Refusal{Kind: policy.TransportError, Stage: policy.StageUpstream, Reason: "CatalogueNotRead",
		Message: "The server's tools have not been read yet. Try again in some seconds."}
}

// pageStart is the name after which the page begins, empty for the first page.
func pageStart(cursor []byte) (string, *policy.Refusal) {
	if cursor == nil || jsonrpc.IsNull(cursor) {
		return "", nil
	}
	text, _ := jsonrpc.String(cursor)
	name, err := base64.RawURLEncoding.DecodeString(text)
	after, ok := strings.CutPrefix(string(name), cursorPrefix)
	if err != nil || !ok || after == "" {
		return "", &policy.Refusal{Kind: policy.InvalidParams, Stage: policy.StageMethod, Reason: "InvalidCursor", Path: "/cursor",
			Message: "The cursor is none that tools/list gave. Leave it out to begin at the first page."}
	}
	return after, nil
}

func page(tools []policy.ListedTool, next string) []byte {
	size := 64 + len(next)*2
	for i := range tools {
		size += len(tools[i].Definition) + 1
	}
	out := append(make([]byte, 0, size), `{"tools":[`...)
	for i := range tools {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, tools[i].Definition...)
	}
	out = append(out, ']')
	if next != "" {
		out = append(out, `,"nextCursor":`...)
		out = jsonrpc.AppendString(out, base64.RawURLEncoding.EncodeToString([]byte(cursorPrefix+next)))
	}
	return append(out, '}')
}
