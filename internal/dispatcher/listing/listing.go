// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package listing answers tools/list: what clients see of a catalogue, cut into pages and encoded once for as long as it holds.
//
// What is listed is for policy to say. It knows no callers and no connections, and must not import the pipeline, Kubernetes, the
// API or the launcher.
package listing

import (
	"encoding/base64"
	"sort"
	"strings"
	"sync"

	"toolgate.dev/toolgate/internal/dispatcher/policy"
	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/jsonrpc"
)

// pageSize is how many tools one page of tools/list holds: more than any server in the field has, since many clients read
// the first page only.
const pageSize = 500

// cursorPrefix tells our cursors from others; what follows is the name after which the page begins.
const cursorPrefix = "after:"

// Kept keeps what tools/list answers, as long as one engine is in force. An answer depends on that, on the definitions, which
// the catalogue's digest stands for, and on trust; on the caller it does not depend, since rules are not asked. The zero value
// is ready, and safe for concurrent use.
type Kept struct {
	mu     sync.Mutex
	engine *policy.Engine
	pages  map[key]*Pages
}

type key struct {
	digest  string
	trusted bool
}

// Pages is one answer, cut into its pages and encoded. Nobody may write to it.
type Pages struct {
	Tools   []policy.ListedTool
	encoded [][]byte
}

// maxLists bounds the answers that are kept: connections list the same definitions but for the moments of a change.
const maxLists = 4

// Of gives the answer for a catalogue.
func (k *Kept) Of(engine *policy.Engine, c *upstream.Catalogue, trusted bool) *Pages {
	of := key{c.Digest, trusted}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.engine != engine || len(k.pages) >= maxLists {
		k.engine, k.pages = engine, map[key]*Pages{}
	}
	pages := k.pages[of]
	if pages == nil {
		pages = encode(engine.Listing(View(c), trusted))
		k.pages[of] = pages
	}
	return pages
}

func encode(tools []policy.ListedTool) *Pages {
	p := &Pages{Tools: tools}
	for len(tools) > pageSize {
		p.encoded = append(p.encoded, page(tools[:pageSize], tools[pageSize-1].Tool.Name))
		tools = tools[pageSize:]
	}
	p.encoded = append(p.encoded, page(tools, ""))
	return p
}

// Page gives the page that a cursor names, the first one where that is nil.
func (p *Pages) Page(cursor []byte) ([]byte, *policy.Refusal) {
	after, refusal := pageStart(cursor)
	if refusal != nil {
		return nil, refusal
	}
	first := sort.Search(len(p.Tools), func(i int) bool { return p.Tools[i].Tool.Name > after })
	if first%pageSize == 0 && first/pageSize < len(p.encoded) {
		return p.encoded[first/pageSize], nil
	}
	return encode(p.Tools[first:]).encoded[0], nil // the tools are others than when the cursor was given
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
