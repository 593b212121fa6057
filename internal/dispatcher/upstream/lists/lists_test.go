// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package lists

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/registry"
)

// pages is a connection to a server that answers lists by these functions of the cursor.
type pages struct {
	upstream.Conn

	capabilities string
	answer       map[string]func(cursor string) upstream.Reply
}

func (p *pages) Info() upstream.Info { return upstream.Info{Capabilities: []byte(p.capabilities)} }

func (p *pages) Call(ctx context.Context, call upstream.Call) (upstream.Reply, error) {
	raw, _ := jsonrpc.Member(call.Params, "cursor")
	cursor, _ := jsonrpc.String(raw)
	if p.answer[call.Method] == nil {
		<-ctx.Done() // a server that says nothing
		return upstream.Reply{}, context.Cause(ctx)
	}
	return p.answer[call.Method](cursor), nil
}

func result(format string, args ...any) upstream.Reply {
	return upstream.Reply{Result: fmt.Appendf(nil, format, args...)}
}

func tools(names ...string) string {
	for i, n := range names {
		names[i] = fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, n)
	}
	return `"tools":[` + strings.Join(names, ",") + `]`
}

func toolsOf(answer func(cursor string) upstream.Reply) *pages {
	return &pages{capabilities: `{"tools":{}}`, answer: map[string]func(string) upstream.Reply{"tools/list": answer}}
}

func TestToolsOfAllPages(t *testing.T) {
	server := toolsOf(func(cursor string) upstream.Reply {
		if cursor == "" {
			return result(`{%s,"nextCursor":"2","ttlMs":60000}`, tools("b", "a"))
		}
		return result(`{"tools":[{"name":"c"}],"ttlMs":30000}`)
	})
	got, err := Tools(context.Background(), server, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Tools) != 3 || got.Tools[0].Name != "b" || got.Tools[2].Name != "c" {
		t.Errorf("got %d tools: %+v", len(got.Tools), got.Tools)
	}
	if got.Tools[2].Err == nil {
		t.Error("a definition without inputSchema is taken for a good one")
	}
	if got.TTL != 30*time.Second || got.Digest == "" {
		t.Errorf("got TTL %s and digest %q; want the least TTL, 30s", got.TTL, got.Digest)
	}
}

// A catalogue is whole or there is none: where a part can't be read nothing of it may be taken for all.
func TestWhatIsNoCatalogue(t *testing.T) {
	n := 0
	cases := map[string]struct {
		answer     func(cursor string) upstream.Reply
		wantReason registry.FailureReason
		wantText   string
	}{
		"no answer":       {nil, registry.FailTimeout, "did not answer tools/list"},
		"a refusal":       {func(string) upstream.Reply { return upstream.Reply{Error: &jsonrpc.Error{Code: -32603}} }, registry.FailCatalogue, "-32603"},
		"no tools in it":  {func(string) upstream.Reply { return result(`{"items":[]}`) }, registry.FailCatalogue, "not as MCP has it"},
		"pages in a ring": {func(string) upstream.Reply { return result(`{%s,"nextCursor":"x"}`, tools("a")) }, registry.FailCatalogue, "same cursor twice"},
		"pages without end": {func(string) upstream.Reply { n++; return result(`{"tools":[],"nextCursor":"%d"}`, n) },
			registry.FailCatalogue, "more than 1000 pages"},
		"too many tools": {func(string) upstream.Reply {
			n++
			return result(`{"tools":[%s],"nextCursor":"%d"}`, strings.Repeat(`{"name":"a"},`, 2000)+`{"name":"a"}`, n)
		}, registry.FailCatalogue, "more than 10000 items"},
		"too large a list": {func(string) upstream.Reply {
			n++
			return result(`{"tools":[],"nextCursor":"%d","x":"%s"}`, n, strings.Repeat("x", maxPageBytes/2))
		}, registry.FailCatalogue, "more than 16777216 bytes"},
		"too large a page": {func(string) upstream.Reply { return result(`{"tools":[],"x":"%s"}`, strings.Repeat("x", maxPageBytes)) },
			registry.FailCatalogue, "list less at a time"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			timeout := time.Hour
			if tc.answer == nil {
				timeout = time.Nanosecond
			}
			got, err := Tools(context.Background(), toolsOf(tc.answer), timeout)
			var failed *upstream.Error
			if got != nil || !errors.As(err, &failed) || failed.Reason != tc.wantReason || !strings.Contains(err.Error(), tc.wantText) {
				t.Errorf("got %+v and %v, want %s: %s", got, err, tc.wantReason, tc.wantText)
			}
		})
	}
}

// Who gave up is told their own cause, not that the server was slow.
func TestTheCallerGivesUp(t *testing.T) {
	errEnough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errEnough)
	if _, err := Tools(ctx, toolsOf(nil), time.Hour); !errors.Is(err, errEnough) {
		t.Errorf("got %v, want %v", err, errEnough)
	}
}

func TestAServerWithoutTools(t *testing.T) {
	server := toolsOf(func(string) upstream.Reply {
		return upstream.Reply{Error: &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound}}
	})
	server.capabilities = `{"resources":{}}`
	if got, err := Tools(context.Background(), server, time.Hour); err != nil || len(got.Tools) != 0 {
		t.Errorf("got %+v and %v, want an empty catalogue: the server does not say that it has tools", got, err)
	}
}

func TestTTL(t *testing.T) {
	cases := map[string]struct {
		ttl  string
		want time.Duration
		none bool
	}{
		"milliseconds":          {ttl: "90000", want: 90 * time.Second},
		"a fraction":            {ttl: "60000.5", want: time.Minute},
		"none at all":           {ttl: "0", want: upstream.LeastTTL},
		"less than nothing":     {ttl: "-1e400", want: upstream.LeastTTL},
		"beyond what is a time": {ttl: "1e400", want: 24 * time.Hour},
		"a text":                {ttl: `"60000"`, none: true},
		"null":                  {ttl: "null", none: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got, ok := ttlOf([]byte(`{"ttlMs":` + tc.ttl + `}`)); got != tc.want || ok == tc.none {
				t.Errorf("got %s, %t; want %s, %t", got, ok, tc.want, !tc.none)
			}
		})
	}
	if _, ok := ttlOf([]byte(`{}`)); ok {
		t.Error("a result without ttlMs has one")
	}
}

func TestCount(t *testing.T) {
	resources := func(cursor string) upstream.Reply {
		if cursor == "" {
			return result(`{"resources":[{},{}],"nextCursor":"2"}`)
		}
		return result(`{"resources":[{}]}`)
	}
	cases := map[string]struct {
		capabilities             string
		prompts                  string
		wantResources, wantCount int
		wantError                string
	}{
		"both":                     {`{"resources":{},"prompts":{}}`, `{"prompts":[{}]}`, 3, 1, ""},
		"one that is not declared": {`{"resources":{},"prompts":null}`, `{"prompts":[{}]}`, 3, -1, ""},
		"one that cannot be read":  {`{"resources":{},"prompts":{}}`, `{"prompts":{}}`, 3, -1, "prompts/list is not as MCP has it"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			server := &pages{capabilities: tc.capabilities, answer: map[string]func(string) upstream.Reply{
				"resources/list": resources, "prompts/list": func(string) upstream.Reply { return result("%s", tc.prompts) },
			}}
			got, prompts, err := Count(context.Background(), server, time.Hour)
			if got != tc.wantResources || prompts != tc.wantCount {
				t.Errorf("got %d and %d, want %d and %d", got, prompts, tc.wantResources, tc.wantCount)
			}
			if (err != nil) != (tc.wantError != "") || err != nil && !strings.Contains(err.Error(), tc.wantError) {
				t.Errorf("got error %v, want %q", err, tc.wantError)
			}
		})
	}
}
