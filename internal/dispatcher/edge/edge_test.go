// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package edge

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"toolgate.dev/toolgate/internal/registry"
)

func TestHostAndOrigin(t *testing.T) {
	cases := map[string]struct {
		host, origin string
		noDocument   bool
		want         string // reason of the refusal
	}{
		"loopback by name":                            {host: "localhost:7310"},
		"loopback by address":                         {host: "127.0.0.1:7310"},
		"loopback in IPv6":                            {host: "[::1]:7310"},
		"the pod by its address":                      {host: "10.1.2.3:7310"},
		"the service's short name":                    {host: "files"},
		"the service's full name, in another case":    {host: "Files.Default.SVC.cluster.local.:80"},
		"the host of the published URL":               {host: "mcp.example.org"},
		"a host of the flag":                          {host: "extra.example.org"},
		"a stranger that resolves to us":              {host: "evil.example.com:7310", want: "HostNotAllowed"},
		"a stranger that begins like us":              {host: "files.default.svc.evil.example.com", want: "HostNotAllowed"},
		"the service's name before there is any":      {host: "files", noDocument: true, want: "HostNotAllowed"},
		"loopback before there is any document":       {host: "localhost", noDocument: true},
		"a page on loopback":                          {host: "localhost:7310", origin: "http://localhost:6274"},
		"a page of a stranger":                        {host: "localhost:7310", origin: "https://evil.example.com", want: "OriginNotAllowed"},
		"a sandboxed page":                            {host: "localhost:7310", origin: "null", want: "OriginNotAllowed"},
		"a page at an address":                        {host: "localhost:7310", origin: "http://203.0.113.9", want: "OriginNotAllowed"},
		"a page that we serve ourselves":              {host: "10.1.2.3:7310", origin: "http://10.1.2.3:7310"},
		"an origin of the flag":                       {host: "localhost", origin: "https://app.example.org"},
		"an origin that only begins like the flag's":  {host: "localhost", origin: "https://app.example.org.evil.com", want: "OriginNotAllowed"},
		"an origin with a scheme that is no web page": {host: "localhost", origin: "file://localhost", want: "OriginNotAllowed"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			doc := &registry.Document{Server: registry.Server{Name: "files", Namespace: "default", URL: "https://mcp.example.org/files"}}
			if tc.noDocument {
				doc = nil
			}
			g := &Guard{Document: func() *registry.Document { return doc }, Hosts: []string{"extra.example.org"}, Origins: []string{"https://app.example.org"}}
			r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
			r.Host = tc.host
			if tc.origin != "" {
				r.Header.Set("Origin", tc.origin)
			}
			got := ""
			if refusal := g.Check(r); refusal != nil {
				got = refusal.Reason
			}
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// G-49: the forms in which clients send Accept.
func TestG49AcceptMatrix(t *testing.T) {
	cases := map[string]struct {
		lines []string
		want  Accepts
	}{
		"both, as the specification asks":         {[]string{"application/json, text/event-stream"}, Accepts{true, true}},
		"both, on two lines":                      {[]string{"application/json", "text/event-stream"}, Accepts{true, true}},
		"JSON alone":                              {[]string{"application/json"}, Accepts{JSON: true}},
		"event stream alone":                      {[]string{"text/event-stream"}, Accepts{EventStream: true}},
		"anything":                                {[]string{"*/*"}, Accepts{true, true}},
		"the form that old Java clients send":     {[]string{"text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2"}, Accepts{true, true}},
		"no header":                               {nil, Accepts{true, true}},
		"an empty header":                         {[]string{""}, Accepts{true, true}},
		"upper case with parameters":              {[]string{"Application/JSON;charset=utf-8, TEXT/Event-Stream;q=0.9"}, Accepts{true, true}},
		"a family":                                {[]string{"application/*"}, Accepts{JSON: true}},
		"a type that is ruled out beside a range": {[]string{"*/*, text/event-stream;q=0"}, Accepts{JSON: true}},
		"neither":                                 {[]string{"text/html"}, Accepts{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
			for _, line := range tc.lines {
				r.Header.Add("Accept", line)
			}
			if got := Accept(r); got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}

// G-38 and G-64, and their kind: media types and sizes of requests.
func TestReadBody(t *testing.T) {
	cases := map[string]struct {
		contentType, encoding string
		size                  int
		wantStatus            int
	}{
		"plain":                          {contentType: "application/json", size: 10},
		"G-38 with a charset":            {contentType: "application/json;charset=utf-8", size: 10},
		"G-38 in upper case and quoted":  {contentType: `Application/JSON; Charset="UTF-8"; x=1`, size: 10},
		"G-64 a large body in the limit": {contentType: "application/json", size: 1 << 20},
		"a body over the limit":          {contentType: "application/json", size: 1<<20 + 1, wantStatus: 413},
		"no media type":                  {size: 10, wantStatus: 415},
		"a form":                         {contentType: "text/plain", size: 10, wantStatus: 415},
		"another charset":                {contentType: "application/json; charset=utf-16", size: 10, wantStatus: 415},
		"G-35 compressed":                {contentType: "application/json", encoding: "gzip", size: 10, wantStatus: 415},
	}
	for name, tc := range cases {
		for _, chunked := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				r := httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(strings.Repeat("x", tc.size)))
				if chunked {
					r.ContentLength = -1
				}
				r.Header.Set("Content-Type", tc.contentType)
				r.Header.Set("Content-Encoding", tc.encoding)
				body, problem := ReadBody(httptest.NewRecorder(), r, 1<<20)
				status := 0
				if problem != nil {
					status = problem.Status
				}
				if status != tc.wantStatus || status == 0 && len(body) != tc.size {
					t.Errorf("status %d with %d bytes, want %d with %d", status, len(body), tc.wantStatus, tc.size)
				}
			})
		}
	}
}

// timed is a recorder that notes the deadlines it is given.
type timed struct {
	*httptest.ResponseRecorder
	last time.Time
}

func (t *timed) SetReadDeadline(at time.Time) error {
	t.last = at
	return nil
}

// The server reads the rest of a body before it answers, so that only a body that was read may have no deadline.
func TestABodyThatIsNotReadKeepsItsDeadline(t *testing.T) {
	read := func(w http.ResponseWriter, r *http.Request) { _, _ = ReadBody(w, r, 8) }
	cases := map[string]struct {
		body, mediaType string
		handler         http.HandlerFunc
		want            bool
	}{
		"a body that was read":        {body: "{}", mediaType: "application/json", handler: read},
		"no body":                     {handler: func(http.ResponseWriter, *http.Request) {}},
		"a body over the limit":       {body: "[1,2,3,4]", mediaType: "application/json", handler: read, want: true},
		"a body of another type":      {body: "{}", mediaType: "text/plain", handler: read, want: true},
		"a body that nobody looks at": {body: "{}", handler: func(http.ResponseWriter, *http.Request) {}, want: true},
	}
	for name, tc := range cases {
		for _, chunked := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				r := httptest.NewRequest(http.MethodPost, "/mcp", http.NoBody)
				if tc.body != "" {
					r = httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(tc.body))
				}
				if chunked && tc.body != "" {
					r.ContentLength = -1
				}
				r.Header.Set("Content-Type", tc.mediaType)
				w := &timed{ResponseRecorder: httptest.NewRecorder()}
				BoundBodies(tc.handler).ServeHTTP(w, r)
				if got := !w.last.IsZero(); got != tc.want {
					t.Errorf("has a deadline: %t, want %t", got, tc.want)
				}
			})
		}
	}
}

func TestAddress(t *testing.T) {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	for remote, want := range map[string]string{"10.0.0.1:5": "10.0.0.1", "[::ffff:10.0.0.1]:5": "10.0.0.1", "[fe80::1]:5": "fe80::1", "@": "@"} {
		r.RemoteAddr = remote
		if got := Address(r); got != want {
			t.Errorf("%s: got %s, want %s", remote, got, want)
		}
	}
}
