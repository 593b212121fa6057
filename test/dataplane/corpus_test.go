// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/test/dataplane/scripted"
)

// TestCorpus holds those rows of docs/corpus.md that no other test is about. A subtest is named by its row.
func TestCorpus(t *testing.T) {
	for name, row := range map[string]func(*testing.T){
		"G-16 no way round by another name":                 noOtherName,
		"G-31 G-32 a list that was filtered has its length": lengthOfAFilteredList,
		"G-33 G-35 no encoding stays behind":                noStaleEncoding,
		"G-86 capabilities of a vendor pass":                vendorCapabilities,
		"G-89 a list is one connection's alone":             listsDoNotLeak,
		"G-91 a schema of an earlier draft is kept":         earlierDrafts,
		"G-97 G-98 a result without its structure":          resultsWithoutStructure,
		"G-101 a refusal helps to do it right":              refusalsHelp,
	} {
		t.Run(name, row)
	}
}

// noOtherName tries the names by which a tool could be called past the policy of its own: a wrapping tool, the qualified
// name of the REST face, other cases, and tricks of paths.
func noOtherName(t *testing.T) {
	c := newChild(t, scripted.Good, greet, remove)
	doc := document(t, c.definitions()...)
	doc.Policy.Trust = registry.Trust{}
	d := serve(t, doc, c.command()...).ready()
	s := d.session(latest)
	for _, wrapper := range []string{"call_tool", "tools/call", "invoke", "server.remove", "REMOVE", "remove ", "./remove", "remove\u0000"} {
		name, _ := json.Marshal(wrapper) // a string
		a := s.post(inCall(fmt.Sprintf(`{"name":%s,"arguments":{"name":"remove","arguments":{"name":%q}}}`, name, mark)))
		if a.refusal().Kind != "ToolNotFoundError" {
			t.Errorf("%q: %s", wrapper, a.body)
		}
	}
	for _, name := range []string{"remove", "server.remove"} {
		resp := must[*http.Response](t)(web.Post(d.mcp+"/api/mcp/tools/invoke", "application/json",
			strings.NewReader(fmt.Sprintf(`{"tool_name":%q,"arguments":{"name":%q}}`, name, mark))))
		body := must[[]byte](t)(io.ReadAll(resp.Body))
		if err := resp.Body.Close(); err != nil || resp.StatusCode != http.StatusForbidden || !bytes.Contains(body, []byte("PermissionError")) {
			t.Errorf("REST %s: %s %s", name, resp.Status, body)
		}
	}
	if strings.Contains(c.read(), mark) {
		t.Error("a call went round the gate")
	}
}

// upstreamBehind starts a scripted server over HTTP behind a handler that may spoil its answers.
func upstreamBehind(t *testing.T, c *child, wrap func(http.Handler) http.Handler) *registry.Document {
	t.Helper()
	doc := overHTTP(t, c)
	server := must[*scripted.Server](t)(scripted.New(c.Options))
	front := httptest.NewServer(wrap(server))
	t.Cleanup(func() { front.Close(); _ = server.Close() }) // its log is read no more
	doc.Upstream.URL = front.URL
	return doc
}

// lengthOfAFilteredList wants the list's length to be that of what is sent, not of what the server sent.
func lengthOfAFilteredList(t *testing.T) {
	c := newChild(t, scripted.Good, greet, remove, strings.Replace(greet, "greet", "hidden", 1))
	doc := upstreamBehind(t, c, func(next http.Handler) http.Handler { return next })
	tools := doc.Revisions[revision].Tools
	doc.Revisions[revision] = registry.Revision{Tools: slices.DeleteFunc(tools, func(t registry.Tool) bool { return t.Name == "hidden" })}
	d := serve(t, doc).ready()
	for _, accept := range []string{"application/json", "text/event-stream", "application/json, text/event-stream"} {
		request := must[*http.Request](t)(http.NewRequest(http.MethodPost, d.mcp+"/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)))
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Accept", accept)
		resp := must[*http.Response](t)(web.Do(request))
		body := must[[]byte](t)(io.ReadAll(resp.Body)) // fails where fewer bytes come than were promised
		if err := resp.Body.Close(); err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(body, []byte(`"hidden"`)) || !bytes.Contains(body, []byte(`"greet"`)) {
			t.Errorf("%s: %s", accept, body)
		}
		if length := resp.Header.Get("Content-Length"); length != "" && length != strconv.Itoa(len(body)) {
			t.Errorf("%s: Content-Length %s of a body of %d", accept, length, len(body))
		}
	}
}

// noStaleEncoding lets the server compress although nobody asked for it.
func noStaleEncoding(t *testing.T) {
	c := newChild(t, scripted.Good, greet, scripted.Say)
	d := serve(t, upstreamBehind(t, c, compressed)).ready()
	s := d.session(latest)
	if names, _ := s.tools(); !slices.Equal(names, []string{"greet", "say"}) {
		t.Errorf("tools %v", names)
	}
	result := `{"content":[{"type":"text","text":"` + strings.Repeat("zip ", 5000) + `"}]}`
	request := must[*http.Request](t)(http.NewRequest(http.MethodPost, s.url, strings.NewReader(inCall(`{"name":"say","arguments":{"result":`+result+`}}`))))
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	request.Header.Set("Accept-Encoding", "identity")
	request.Header.Set("Mcp-Session-Id", s.session)
	resp := must[*http.Response](t)(web.Do(request))
	body := must[[]byte](t)(io.ReadAll(resp.Body))
	if err := resp.Body.Close(); err != nil {
		t.Fatal(err)
	}
	if encoding := resp.Header.Get("Content-Encoding"); encoding != "" || !bytes.Contains(body, []byte(result)) {
		t.Errorf("encoding %q, %.200q", encoding, body)
	}
}

// compressed sends every answer in gzip, whatever the request accepts.
func compressed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		recorder := httptest.NewRecorder()
		next.ServeHTTP(recorder, r)
		for key, values := range recorder.Header() {
			w.Header()[key] = values
		}
		if recorder.Body.Len() > 0 {
			w.Header().Set("Content-Encoding", "gzip")
		}
		w.WriteHeader(recorder.Code)
		if recorder.Body.Len() > 0 {
			zip := gzip.NewWriter(w)
			_, _ = zip.Write(recorder.Body.Bytes()) // a reader that has gone shows in its own test
			_ = zip.Close()
		}
	})
}

// vendorCapabilities wants what nobody here knows to reach the server in its bytes, and what policy denies to be gone.
func vendorCapabilities(t *testing.T) {
	c := newChild(t, scripted.Good, greet)
	doc := document(t, c.definitions()...)
	doc.Policy.Client.Sampling = false
	d := serve(t, doc, c.command()...).ready()
	capabilities := `"x-vendor/ui":{"b":[1,2.50],"a":null},"experimental":{"vendor.example/x":{}}`
	a := d.anonymous().post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{` + capabilities +
		`,"sampling":{}},"clientInfo":{"name":"vendor-client","version":"1","x-odd":true}}}`)
	if a.Error != nil || a.session == "" {
		t.Fatalf("initialize: %s", a.body)
	}
	for line := range strings.Lines(c.read()) {
		if strings.Contains(line, "vendor-client") {
			if !strings.Contains(line, `"capabilities":{`+capabilities+`}`) {
				t.Errorf("the server was told %s", line)
			}
			return
		}
	}
	t.Errorf("the server never heard of the client:\n%s", c.read())
}

// listsDoNotLeak changes the list of one client's connection, and wants that of another to stay; caches between must not
// share either.
func listsDoNotLeak(t *testing.T) {
	c := newChild(t, scripted.Good, greet, scripted.Change)
	d := serve(t, document(t, c.definitions()...), c.command()...).ready()
	one, other := d.session(latest), d.session(latest)
	before, definitions := other.tools()
	one.call("change", `{}`)
	await(t, "the one list has changed", func() bool { names, _ := one.tools(); return len(names) == 0 })
	after, now := other.tools()
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("the other list (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(texts(definitions), texts(now)); diff != "" {
		t.Errorf("the other definitions (-before +after):\n%s", diff)
	}
	for _, method := range []string{"tools/list", "server/discover"} {
		if a := d.anonymous().modern(method, ""); !bytes.Contains(a.Result, []byte(`"cacheScope":"private"`)) {
			t.Errorf("%s may be shared: %s", method, a.body)
		}
	}
}

// earlierDrafts wants a schema of draft-07 to be read as what it is, and listed as it is: a client with another reader can say
// which dialect it has before it.
func earlierDrafts(t *testing.T) {
	definition := `{"name":"say","inputSchema":{"$schema":"http://json-schema.org/draft-07/schema#","type":"object"},` +
		`"outputSchema":{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"pair":{"items":[{"type":"string"},{"type":"integer"}],"additionalItems":false}}},` +
		`"annotations":{"readOnlyHint":true}}`
	c := newChild(t, scripted.Good, definition)
	doc := document(t, c.definitions()...)
	doc.Policy.Validation.Results = registry.Enforce
	s := serve(t, doc, c.command()...).ready().session(latest)
	if _, got := s.tools(); string(got["say"]) != definition {
		t.Errorf("listed as %s", got["say"])
	}
	for pair, fits := range map[string]bool{`["a",1]`: true, `["a",1,2]`: false, `[1]`: false} {
		a := s.call("say", `{"result":{"content":[],"structuredContent":{"pair":`+pair+`}}}`)
		if fits != a.good() {
			t.Errorf("%s: %s", pair, a.body)
		}
	}
}

// resultsWithoutStructure wants a result that lacks what its tool declares to pass with a warning, unless results are
// enforced, and one that is an error to pass in any case.
func resultsWithoutStructure(t *testing.T) {
	definition := strings.Replace(scripted.Say, `"annotations"`, `"outputSchema":{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}},"annotations"`, 1)
	results := map[string]string{
		"none":  `{"content":[{"type":"text","text":"1"}]}`,
		"wrong": `{"content":[],"structuredContent":{"n":"1"}}`,
		"error": `{"content":[],"isError":true}`,
		"good":  `{"content":[],"structuredContent":{"n":1}}`,
	}
	for mode, refused := range map[registry.Mode][]string{registry.Warn: nil, registry.Off: nil, registry.Enforce: {"none", "wrong"}} {
		t.Run(string(mode), func(t *testing.T) {
			c := newChild(t, scripted.Good, definition)
			doc := document(t, c.definitions()...)
			doc.Policy.Validation.Results = mode
			d := serve(t, doc, c.command()...).ready()
			s := d.session(latest)
			for name, result := range results {
				a := s.call("say", `{"result":`+result+`}`)
				if slices.Contains(refused, name) {
					if a.code() == 0 && a.refusal().Kind == "" {
						t.Errorf("%s was not refused: %s", name, a.body)
					}
				} else if string(a.Result) != result {
					t.Errorf("%s: %s", name, a.body)
				}
			}
		})
	}
}

// refusalsHelp wants an answer from which a model can make a better call: where, which keyword, and what would be right.
func refusalsHelp(t *testing.T) {
	definition := `{"name":"book","inputSchema":{"type":"object","required":["seat"],"properties":{"seat":{"type":"object","required":["class"],` +
		`"properties":{"class":{"enum":["first","second"]},"row":{"type":"integer","maximum":40}}}}},"annotations":{"readOnlyHint":true}}`
	c := newChild(t, scripted.Good, definition)
	s := serve(t, document(t, c.definitions()...), c.command()...).ready().session(latest)
	for arguments, want := range map[string][]string{
		`{"seat":{"class":"third"}}`:            {"/seat/class", "enum", "first", "second"},
		`{"seat":{"class":"first","row":"12"}}`: {"/seat/row", "type", "integer"},
		`{"seat":{"class":"first","row":41}}`:   {"/seat/row", "maximum", "40"},
		`{"seat":{}}`:                           {"/seat", "required", "class"},
	} {
		a := s.call("book", arguments)
		text, machine := string(a.Result), a.refusal()
		if len(machine.Violations) == 0 || machine.Violations[0].Keyword != want[1] {
			t.Errorf("%s: %s", arguments, text)
		}
		for _, word := range want {
			if !strings.Contains(text, word) {
				t.Errorf("%s: %q is not in %s", arguments, word, text)
			}
		}
	}
}
