// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plain

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What is written is what net/http writes, read back.
func TestRequestsAreWrittenAsNetHTTPWrites(t *testing.T) {
	agent := http.Header{"User-Agent": {"toolgate"}}
	with := func(more http.Header) http.Header {
		header := agent.Clone()
		for name, values := range more {
			header[name] = values
		}
		return header
	}
	for name, tc := range map[string]struct {
		method, url, body string
		header            http.Header
		change            func(*http.Request)
		wantOrdinary      bool
	}{
		"a call":                     {"POST", "http://127.0.0.1:80/mcp", `{"a":1}`, with(http.Header{"Accept": {"a", "b"}, "Mcp-Session-Id": {"x"}}), nil, true},
		"no body":                    {"POST", "http://127.0.0.1/mcp", "", agent, nil, true},
		"a stream is asked for":      {"GET", "http://[::1]:8080/mcp?a=b%20c&d", "", agent, nil, true},
		"a session is ended":         {"DELETE", "http://localhost/m%2Fcp", "", agent, nil, true},
		"the root":                   {"POST", "http://localhost", "x", agent, nil, true},
		"no user agent":              {"POST", "http://localhost/", "x", http.Header{}, nil, false},
		"a line break in a header":   {"POST", "http://localhost/", "x", with(http.Header{"X-A": {"b\r\nX-C: d"}}), nil, true},
		"a name that is no name":     {"POST", "http://localhost/", "x", with(http.Header{"X A": {"b"}}), nil, true},
		"a length of its own":        {"POST", "http://localhost/", "x", with(http.Header{"Content-Length": {"5"}}), nil, false},
		"another method":             {"PATCH", "http://localhost/", "x", agent, nil, false},
		"the last of its connection": {"POST", "http://localhost/", "x", agent, func(r *http.Request) { r.Close = true }, false},
		"a host in another alphabet": {"POST", "http://b\u00fccher.example/", "x", agent, nil, false},
		"a body of unknown length":   {"POST", "http://localhost/", "x", agent, func(r *http.Request) { r.ContentLength = -1 }, false},
	} {
		t.Run(name, func(t *testing.T) {
			make := func() *http.Request {
				r, err := http.NewRequestWithContext(t.Context(), tc.method, tc.url, strings.NewReader(tc.body))
				if err != nil {
					t.Fatal(err)
				}
				r.Header = tc.header
				if tc.change != nil {
					tc.change(r)
				}
				return r
			}
			if got := ordinary(make(), make().URL.RequestURI()); got != tc.wantOrdinary {
				t.Errorf("ordinary: %v", got)
			}
			var ours, theirs bytes.Buffer
			out := bufio.NewWriter(&ours)
			if err := write(out, make()); err != nil || out.Flush() != nil {
				t.Fatal(err)
			}
			if err := make().Write(&theirs); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(readBack(t, &theirs), readBack(t, &ours)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// readBack gives all that a server would see of a request.
func readBack(t *testing.T, text *bytes.Buffer) []any {
	t.Helper()
	in := bufio.NewReader(text)
	r, err := http.ReadRequest(in)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return []any{r.Method, r.RequestURI, r.Proto, r.Host, r.Header, r.ContentLength, r.TransferEncoding, r.Close, string(body), in.Buffered()}
}

func TestABodyThatIsNotAsLongAsSaid(t *testing.T) {
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/", strings.NewReader("abc"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("User-Agent", "toolgate")
	r.ContentLength = 5
	if err := write(bufio.NewWriter(io.Discard), r); err == nil {
		t.Error("no error")
	}
}

func TestAnOrdinaryRequestTakesLittleMemory(t *testing.T) {
	out, body := bufio.NewWriter(io.Discard), strings.NewReader("")
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/mcp", io.NopCloser(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header, r.ContentLength = http.Header{"User-Agent": {"toolgate"}, "Accept": {"a"}}, 2
	if n := testing.AllocsPerRun(100, func() {
		body.Reset("{}")
		if err := write(out, r); err != nil {
			t.Fatal(err)
		}
	}); n > 3 {
		t.Errorf("%v allocations", n)
	}
}
