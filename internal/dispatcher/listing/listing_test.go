// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package listing

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"toolgate.dev/toolgate/internal/catalog"
	"toolgate.dev/toolgate/internal/dispatcher/policy"
	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/testutil/documents"
)

const revision = "1"

// server is a catalogue of n tools and the engine of a document that admits them all.
func server(t *testing.T, n int) (*policy.Engine, *upstream.Catalogue) {
	t.Helper()
	c := &upstream.Catalogue{Digest: fmt.Sprint(n)}
	definitions := make([]json.RawMessage, n)
	for i := range definitions {
		definitions[i] = fmt.Appendf(nil, `{"name":"tool%04d","inputSchema":{"type":"object"}}`, i)
		tool, err := catalog.ParseTool(definitions[i])
		if err != nil {
			t.Fatal(err)
		}
		c.Tools = append(c.Tools, upstream.CatalogueTool{Tool: tool})
	}
	doc, err := documents.Admitting(revision, definitions...)
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := registry.Compile(doc, "sha256:0", revision)
	if err != nil {
		t.Fatal(err)
	}
	return policy.New(snapshot, registry.NewSchemaCache()), c
}

type decoded struct {
	Tools      []struct{ Name string } `json:"tools"`
	NextCursor *string                 `json:"nextCursor"`
}

func read(t *testing.T, p *Pages, cursor *string) decoded {
	t.Helper()
	raw := []byte(nil)
	if cursor != nil {
		raw, _ = json.Marshal(*cursor)
	}
	got, refusal := p.Page(raw)
	if refusal != nil {
		t.Fatalf("cursor %s: %s", raw, refusal.Message)
	}
	var d decoded
	if err := json.Unmarshal(got, &d); err != nil {
		t.Fatalf("page %.200s: %v", got, err)
	}
	return d
}

func TestEveryToolIsOnOnePage(t *testing.T) {
	for _, n := range []int{0, 1, pageSize - 1, pageSize, pageSize + 1, 2*pageSize + 7} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			engine, catalogue := server(t, n)
			pages := new(Kept).Of(engine, catalogue, true)
			seen, count := "", 0
			for cursor := (*string)(nil); ; {
				p := read(t, pages, cursor)
				if p.Tools == nil {
					t.Fatal("a page without tools is null, not an empty list")
				}
				for _, tool := range p.Tools {
					if tool.Name <= seen {
						t.Fatalf("%s comes after %s", tool.Name, seen)
					}
					seen, count = tool.Name, count+1
				}
				if cursor = p.NextCursor; cursor == nil {
					break
				}
				if len(p.Tools) != pageSize {
					t.Fatalf("a page that is not the last has %d tools", len(p.Tools))
				}
			}
			if count != n {
				t.Errorf("%d tools are listed, want %d", count, n)
			}
		})
	}
}

// A cursor holds a name, not a number: tools that came or went meanwhile make nobody miss one that was there all the time.
func TestACursorOfAnotherList(t *testing.T) {
	before, catalogue := server(t, 2*pageSize)
	cursor := read(t, new(Kept).Of(before, catalogue, true), nil).NextCursor
	catalogue = &upstream.Catalogue{Digest: "fewer", Tools: catalogue.Tools[3:]}
	p := read(t, new(Kept).Of(before, catalogue, true), cursor)
	if want := fmt.Sprintf("tool%04d", pageSize); len(p.Tools) != pageSize || p.Tools[0].Name != want {
		t.Errorf("the page has %d tools and begins with %v, want %d from %s", len(p.Tools), p.Tools[:min(1, len(p.Tools))], pageSize, want)
	}
}

func TestCursorsThatNobodyGave(t *testing.T) {
	engine, catalogue := server(t, 1)
	pages := new(Kept).Of(engine, catalogue, true)
	encode := func(s string) string { return `"` + base64.RawURLEncoding.EncodeToString([]byte(s)) + `"` }
	for name, cursor := range map[string]string{
		"a number":              `7`,
		"an empty text":         `""`,
		"no base64":             `"%%%"`,
		"somebody else's":       encode("page:2"),
		"one without a name":    encode(cursorPrefix),
		"an object in disguise": `{"after":"a"}`,
	} {
		t.Run(name, func(t *testing.T) {
			got, refusal := pages.Page([]byte(cursor))
			if got != nil || refusal == nil || refusal.Kind != policy.InvalidParams || refusal.Path != "/cursor" {
				t.Errorf("got %s and %+v, want a refusal at /cursor", got, refusal)
			}
		})
	}
	if _, refusal := pages.Page([]byte("null")); refusal != nil {
		t.Errorf("null is refused: %s", refusal.Message)
	}
}

func TestKept(t *testing.T) {
	engine, catalogue := server(t, 1)
	var kept Kept
	first := kept.Of(engine, catalogue, true)
	if kept.Of(engine, catalogue, true) != first {
		t.Error("the same list is encoded twice")
	}
	for name, other := range map[string]func() *Pages{
		"trust":   func() *Pages { return kept.Of(engine, catalogue, false) },
		"digests": func() *Pages { return kept.Of(engine, &upstream.Catalogue{Digest: "other"}, true) },
		"engines": func() *Pages { other, same := server(t, 1); return kept.Of(other, same, true) },
	} {
		if other() == first {
			t.Errorf("lists of different %s are taken for the same", name)
		}
	}
	for i := range 10 * maxLists {
		kept.Of(engine, &upstream.Catalogue{Digest: fmt.Sprint("many", i)}, true)
		if len(kept.pages) > maxLists {
			t.Fatalf("%d lists are kept, at most %d may be", len(kept.pages), maxLists)
		}
	}
}

func TestView(t *testing.T) {
	_, catalogue := server(t, 3)
	catalogue.Tools[2].Name = catalogue.Tools[1].Name
	for name, want := range map[string]error{"tool0000": nil, "tool0001": policy.ErrDuplicateName, "tool0002": policy.ErrNotListed} {
		if _, err := View(catalogue).Lookup(name); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", name, err, want)
		}
	}
	if !strings.Contains(NotRead().Message, "Try again") {
		t.Error("who asks too early is not told to ask again")
	}
}
