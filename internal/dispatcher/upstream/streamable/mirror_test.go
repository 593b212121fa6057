// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package streamable

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"toolgate.dev/toolgate/internal/catalog"
	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/upstreamtest"
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/registry"
)

// modern is a server that speaks 2026-07-28 only. It keeps the requests that it gets.
type modern struct {
	tools string
	ttl   string // of tools/list, as a member
	// answer replaces the answer to tools/call.
	answer   func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message)
	requests chan modernRequest
}

type modernRequest struct {
	http.Header
	method, params string
}

func (s *modern) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m, err := readMessage(r)
	if err != nil || r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	s.requests <- modernRequest{r.Header, m.Method, string(m.Params)}
	version, _ := jsonrpc.String(m.MetaMember("io.modelcontextprotocol/protocolVersion"))
	switch {
	case version != "2026-07-28" || r.Header.Get(headerVersion) != version || r.Header.Get(headerMethod) != m.Method:
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write(jsonrpc.AppendError(nil, m.ID, &jsonrpc.Error{Code: -32602, Message: "_meta is missing"}))
	case m.Method == "server/discover":
		reply(w, m.ID, `{"resultType":"complete","supportedVersions":["2027-01-01","2026-07-28"],"capabilities":{"tools":{}}}`)
	case m.Method == "tools/list":
		reply(w, m.ID, `{"resultType":"complete","tools":[`+s.tools+`]`+s.ttl+`,"cacheScope":"private"}`)
	case s.answer != nil:
		s.answer(w, r, &m)
	default:
		startStream(w)("data: " + response(m.ID, `{"resultType":"complete"}`) + "\n\n")
	}
}

func newModern() *modern { return &modern{requests: make(chan modernRequest, 100)} }

// next is the next request of this method.
func (s *modern) next(method string) modernRequest {
	for {
		if r := <-s.requests; r.method == method {
			return r
		}
	}
}

func readMessage(r *http.Request) (jsonrpc.Message, error) {
	body := make([]byte, r.ContentLength)
	if _, err := r.Body.Read(body); err != nil && len(body) == 0 {
		return jsonrpc.Message{}, err
	}
	return jsonrpc.Parse(body, jsonrpc.Limits{})
}

func TestModernServer(t *testing.T) {
	server := newModern()
	d := newDialer(t, Options{URL: serve(t, server).URL})
	for dialled := range 2 {
		conn, err := d.Dial(t.Context(), upstream.Hello{Capabilities: []byte(`{"sampling":{}}`)}, newRecorder())
		if err != nil {
			t.Fatal(err)
		}
		if info := conn.Info(); info.Era != upstream.Modern || info.ProtocolVersion != "2026-07-28" {
			t.Errorf("info %+v", info)
		}
		if want := 2 - dialled; len(server.requests) != want {
			t.Errorf("%d requests to connect for the %d. time, want %d", len(server.requests), dialled+1, want)
		}
		if got, err := upstreamtest.CallTool(t, conn, `{"name":"grüße","_meta":{}}`); err != nil || got != `{"resultType":"complete"}` {
			t.Errorf("got %s, %v", got, err)
		}
		r := server.next("tools/call")
		want := []string{"tools/call", "=?base64?Z3LDvMOfZQ==?=", "2026-07-28", ""}
		if diff := cmp.Diff(want, []string{r.Get(headerMethod), r.Get(headerName), r.Get(headerVersion), r.Get(headerSession)}); diff != "" {
			t.Errorf("headers (-want +got):\n%s", diff)
		}
		if !strings.Contains(r.params, `"io.modelcontextprotocol/clientCapabilities":{"sampling":{}}`) {
			t.Errorf("params %s", r.params)
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestLeavingIsCancellingInTheModernEra(t *testing.T) {
	server := newModern()
	left := make(chan struct{})
	server.answer = func(w http.ResponseWriter, r *http.Request, _ *jsonrpc.Message) {
		startStream(w)(": wait\n\n")
		<-r.Context().Done()
		close(left)
	}
	conn := dial(t, server, nil, Options{})
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("gone")
	go func() {
		server.next("tools/call")
		cancel(gone)
	}()
	if _, err := conn.Call(ctx, upstream.Call{Method: "tools/call", Params: []byte(`{"name":"a"}`)}); !errors.Is(err, gone) {
		t.Errorf("error %v, want the caller's cause", err)
	}
	<-left
	if _, err := conn.Catalogue(t.Context()); err != nil { // asks the server once more
		t.Error(err)
	}
	close(server.requests)
	for r := range server.requests {
		if r.method == "notifications/cancelled" {
			t.Error("the server was told by a notification too")
		}
	}
}

func TestArgumentsAreMirrored(t *testing.T) {
	for name, tc := range map[string]struct {
		properties, arguments string
		want                  map[string]string
		says                  string
	}{
		"a string, a number and a boolean": {
			properties: `{"a":{"type":"string","x-mcp-header":"Region"},"b":{"type":"integer","x-mcp-header":"n"},"c":{"type":"boolean","x-mcp-header":"Flag"},"d":{"type":"string"}}`,
			arguments:  `{"a":"eu","b":42,"c":true,"d":"x"}`, want: map[string]string{"Mcp-Param-Region": "eu", "Mcp-Param-N": "42", "Mcp-Param-Flag": "true"}},
		"null and absent arguments have no header": {
			properties: `{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"B"}}`, arguments: `{"a":null}`, want: map[string]string{}},
		"a nested property": {
			properties: `{"a":{"type":"object","properties":{"b":{"type":"string","x-mcp-header":"B"}}}}`, arguments: `{"a":{"b":" x"}}`, want: map[string]string{"Mcp-Param-B": "=?base64?IHg=?="}},
		"line breaks cannot make headers": {
			properties: `{"a":{"type":"string","x-mcp-header":"A"}}`, arguments: `{"a":"x\r\nEvil: y"}`, want: map[string]string{"Mcp-Param-A": "=?base64?eA0KRXZpbDogeQ==?="}},
		"what looks encoded is encoded": {
			properties: `{"a":{"type":"string","x-mcp-header":"A"}}`, arguments: `{"a":"=?base64?eA==?="}`, want: map[string]string{"Mcp-Param-A": "=?base64?PT9iYXNlNjQ/ZUE9PT89?="}},
		"a value that is no word": {properties: `{"a":{"type":"string","x-mcp-header":"X"}}`, arguments: `{"a":[1]}`, says: "must be a string"},
	} {
		t.Run(name, func(t *testing.T) {
			server := newModern()
			server.tools = `{"name":"t","inputSchema":{"type":"object","properties":` + tc.properties + `}}`
			conn := dial(t, server, nil, Options{})
			_, err := upstreamtest.CallTool(t, conn, `{"name":"t","arguments":`+tc.arguments+`}`)
			if tc.says != "" {
				upstreamtest.WantFailure(t, err, registry.FailCatalogue, tc.says)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for key, values := range server.next("tools/call").Header {
				if strings.HasPrefix(key, paramPrefix) {
					got[key] = values[0]
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("headers (-want +got):\n%s", diff)
			}
		})
	}
}

// TestToolsWithAnnotationsThatCannotBeSentAreWithheld wants one such tool to be withheld with a reason, and the others to be served.
func TestToolsWithAnnotationsThatCannotBeSentAreWithheld(t *testing.T) {
	const good = `{"type":"string","x-mcp-header":"Region"}`
	for name, tc := range map[string]struct{ schema, says string }{
		"no annotation":                   {schema: `{"type":"object"}`},
		"a string":                        {schema: `{"type":"object","properties":{"a":` + good + `}}`},
		"nested properties":               {schema: `{"type":"object","properties":{"a":{"type":"object","properties":{"b":` + good + `}}}}`},
		"a property of that name":         {schema: `{"type":"object","properties":{"x-mcp-header":{"type":"array"}}}`},
		"a value that looks like one":     {schema: `{"type":"object","default":{"x-mcp-header":""},"properties":{"a":{"const":` + good + `,"enum":[` + good + `]}}}`},
		"an empty name":                   {schema: `{"type":"object","properties":{"a":{"type":"string","x-mcp-header":""}}}`, says: "not empty"},
		"a name with a space":             {schema: `{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"a b"}}}`, says: "the name of an HTTP header"},
		"a name with a line break":        {schema: `{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"a\r\nb"}}}`, says: "the name of an HTTP header"},
		"a name that is no string":        {schema: `{"type":"object","properties":{"a":{"type":"string","x-mcp-header":true}}}`, says: "the name of an HTTP header"},
		"two names that differ in case":   {schema: `{"type":"object","properties":{"a":` + good + `,"b":{"type":"string","x-mcp-header":"REGION"}}}`, says: "the same header, REGION"},
		"two names at different depths":   {schema: `{"type":"object","properties":{"a":` + good + `,"b":{"properties":{"c":` + good + `}}}}`, says: "the same header"},
		"a number":                        {schema: `{"type":"object","properties":{"a":{"type":"number","x-mcp-header":"A"}}}`, says: "string, integer or boolean"},
		"an object":                       {schema: `{"type":"object","properties":{"a":{"type":"object","x-mcp-header":"A"}}}`, says: "string, integer or boolean"},
		"no type":                         {schema: `{"type":"object","properties":{"a":{"x-mcp-header":"A"}}}`, says: "string, integer or boolean"},
		"several types":                   {schema: `{"type":"object","properties":{"a":{"type":["string"],"x-mcp-header":"A"}}}`, says: "string, integer or boolean"},
		"the root":                        {schema: `{"type":"object","x-mcp-header":"A"}`, says: "through properties alone"},
		"items":                           {schema: `{"type":"object","properties":{"a":{"type":"array","items":` + good + `}}}`, says: "/inputSchema/properties/a/items/x-mcp-header"},
		"allOf":                           {schema: `{"type":"object","allOf":[{"properties":{"a":` + good + `}}]}`, says: "through properties alone"},
		"a definition":                    {schema: `{"type":"object","$defs":{"a":` + good + `}}`, says: "through properties alone"},
		"a definition named like data":    {schema: `{"type":"object","$defs":{"default":` + good + `}}`, says: "through properties alone"},
		"additionalProperties":            {schema: `{"type":"object","additionalProperties":` + good + `}`, says: "through properties alone"},
		"a conditional":                   {schema: `{"type":"object","then":{"properties":{"a":` + good + `}}}`, says: "through properties alone"},
		"a keyword that nobody knows yet": {schema: `{"type":"object","futureSchemas":[[{"properties":{"a":` + good + `}}]]}`, says: "through properties alone"},
	} {
		t.Run(name, func(t *testing.T) {
			server := newModern()
			server.tools = `{"name":"other","inputSchema":{"type":"object"}},{"name":"t","inputSchema":` + tc.schema + `}`
			conn := dial(t, server, nil, Options{})
			cat, err := conn.Catalogue(t.Context())
			if err != nil || len(cat.Tools) != 2 || cat.Tools[0].Err != nil {
				t.Fatalf("catalogue %+v, %v", cat, err)
			}
			switch err := cat.Tools[1].Err; {
			case tc.says == "" && err != nil:
				t.Errorf("the tool is withheld: %v", err)
			case tc.says != "" && (!errors.Is(err, catalog.ErrInvalidSchema) || !strings.Contains(err.Error(), tc.says)):
				t.Errorf("error %v, want %q", err, tc.says)
			}
		})
	}
	t.Run("but not from a server of an older revision", func(t *testing.T) {
		server := newFake()
		server.answer = func(w http.ResponseWriter, _ *http.Request, m *jsonrpc.Message) bool {
			if m.Method != "tools/list" {
				return false
			}
			reply(w, m.ID, `{"tools":[{"name":"t","inputSchema":{"type":"object","x-mcp-header":1}}]}`)
			return true
		}
		if cat, err := dial(t, server, nil, Options{}).Catalogue(t.Context()); err != nil || cat.Tools[0].Err != nil {
			t.Errorf("catalogue %+v, %v", cat, err)
		}
	})
}

func TestAMismatchOfHeadersOutdatesTheCatalogue(t *testing.T) {
	server := newModern()
	server.answer = func(w http.ResponseWriter, _ *http.Request, m *jsonrpc.Message) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write(jsonrpc.AppendError(nil, m.ID, &jsonrpc.Error{Code: -32020, Message: "mismatch"}))
	}
	conn := dial(t, server, nil, Options{})
	before, err := conn.Catalogue(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := upstreamtest.CallTool(t, conn, `{"name":"t"}`); err != nil || got != "error -32020" {
		t.Errorf("got %s, %v", got, err)
	}
	if after, err := conn.Catalogue(t.Context()); err != nil || after == before {
		t.Errorf("the catalogue was not read again: %v", err)
	}
}
