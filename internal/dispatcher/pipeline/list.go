// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

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

// Listing is what clients see of a catalogue. Nobody may write to it.
func (p *Pipeline) Listing(c *upstream.Catalogue) []policy.ListedTool {
	engine := p.engine.Load()
	if engine == nil || c == nil {
		return nil
	}
	return p.lists.get(engine, c, p.Trusted(engine)).tools
}

// lists keep what tools/list answers, as long as one engine is in force. An answer depends on that, on the definitions, which
// the catalogue's digest stands for, and on trust; on the caller it does not depend, since rules are not asked.
type lists struct {
	mu     sync.Mutex
	engine *policy.Engine
	kept   map[listKey]*list
}

type listKey struct {
	digest  string
	trusted bool
}

// list is one answer, cut into its pages and encoded.
type list struct {
	tools []policy.ListedTool
	pages [][]byte
}

// maxLists bounds the answers that are kept: connections list the same definitions but for the moments of a change.
const maxLists = 4

func (l *lists) get(engine *policy.Engine, c *upstream.Catalogue, trusted bool) *list {
	key := listKey{c.Digest, trusted}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.engine != engine || len(l.kept) >= maxLists {
		l.engine, l.kept = engine, map[listKey]*list{}
	}
	one := l.kept[key]
	if one == nil {
		one = newList(engine.Listing(View(c), trusted))
		l.kept[key] = one
	}
	return one
}

func newList(tools []policy.ListedTool) *list {
	l := &list{tools: tools}
	for len(tools) > pageSize {
		l.pages = append(l.pages, page(tools[:pageSize], tools[pageSize-1].Tool.Name))
		tools = tools[pageSize:]
	}
	l.pages = append(l.pages, page(tools, ""))
	return l
}

// from gives the page that begins after a name.
func (l *list) from(after string) []byte {
	first := sort.Search(len(l.tools), func(i int) bool { return l.tools[i].Tool.Name > after })
	if first%pageSize == 0 && first/pageSize < len(l.pages) {
		return l.pages[first/pageSize]
	}
	return newList(l.tools[first:]).pages[0] // the tools are others than when the cursor was given
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
	return Answer{Result: x.lists.get(x.engine, c, x.trusted).from(after)}
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
