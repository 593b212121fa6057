// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plain

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// What a server may send, and what must become of its connection: it is kept only where both sides agree on where the answer
// ended.
func TestAnswers(t *testing.T) {
	const head, chunked = "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	for name, tc := range map[string]struct {
		answer   string
		want     string // empty where there is no answer
		wantKept bool
	}{
		"chunks":                                   {chunked + "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", "200 abcde", true},
		"chunks with extensions":                   {chunked + "3;a=b\r\nabc\r\n0;c\r\n\r\n", "200 abc", true},
		"trailers":                                 {chunked + "3\r\nabc\r\n0\r\nX-Sum: 1\r\nX-More: 2\r\n\r\n", "200 abc", true},
		"trailers without end":                     {chunked + "0\r\n" + strings.Repeat("X-Sum: 1\r\n", 1000), "", false},
		"a chunk that is longer than it says":      {chunked + "3\r\nabcd\r\n0\r\n\r\n", "", false},
		"a chunk of a size that overflows":         {chunked + "fffffffffffffffff\r\nabc", "", false},
		"a chunk of a size that is none":           {chunked + "-3\r\nabc\r\n0\r\n\r\n", "", false},
		"more after the last chunk":                {chunked + "0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", "200 ", false},
		"chunks win over a length":                 {head + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n", "200 abcde", true},
		"an encoding of the transfer unknown here": {head + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "", false},
		"chunked twice":                            {head + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "", false},
		"a length twice":                           {head + "Content-Length: 2\r\nContent-Length: 2\r\n\r\nab", "200 ab", true},
		"two lengths in one":                       {head + "Content-Length: 2, 3\r\n\r\nabc", "", false},
		"a length with a sign":                     {head + "Content-Length: +2\r\n\r\nab", "", false},
		"a length below nothing":                   {head + "Content-Length: -2\r\n\r\nab", "", false},
		"more than the length says":                {head + "Content-Length: 2\r\n\r\nabc", "200 ab", false},
		"neither length nor chunks":                {head + "\r\nuntil the end", "200 until the end", false},
		"the last of its connection":               {head + "Connection: close\r\nContent-Length: 2\r\n\r\nab", "200 ab", false},
		"an older HTTP":                            {"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nab", "200 ab", false},
		"an older HTTP that stays":                 {"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nab", "200 ab", true},
		"no content":                               {"HTTP/1.1 204 No Content\r\n\r\n", "204 ", true},
		"no content, and some":                     {"HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\nab", "204 ", false},
		"not modified, with a length":              {"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", "304 ", true},
		"interim answers first":                    {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + head + "Content-Length: 2\r\n\r\nab", "200 ab", true},
		"interim answers without end":              {strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n", 1000), "", false},
		"another protocol, unasked":                {"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n", "", false},
		"a blank before a colon":                   {head + "Content-Length : 2\r\n\r\nab", "200 ab", false},
		"a header without a colon":                 {head + "Content-Length\r\n\r\n", "", false},
		"a status that is none":                    {"HTTP/1.1 2000 OK\r\n\r\n", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			url := script(t, func(conn net.Conn, in *bufio.Reader) {
				if skip(in) {
					_, _ = io.WriteString(conn, tc.answer)
				}
				if tc.wantKept {
					_, _ = in.ReadByte() // until the client has gone
				}
			})
			transport := newTransport(t, url)
			got, err := exchangeOnce(t, transport, url, "x")
			if (err == nil) != (tc.want != "") || err == nil && got != tc.want {
				t.Errorf("got %q, %v, want %q", got, err, tc.want)
			}
			if kept := len(transport.idle) == 1; kept != tc.wantKept {
				t.Errorf("kept: %t, want %t", kept, tc.wantKept)
			}
		})
	}
}

// A broken exchange takes its connection with it, and no other.
func TestTheNextRequestAfterABrokenAnswer(t *testing.T) {
	broken := make(chan struct{}, 1)
	broken <- struct{}{}
	url := script(t, func(conn net.Conn, in *bufio.Reader) {
		for skip(in) {
			select {
			case <-broken:
				_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2, 5\r\n\r\nwrong")
			default:
				_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nright")
			}
		}
	})
	transport := newTransport(t, url)
	if got, err := exchangeOnce(t, transport, url, "x"); err == nil {
		t.Errorf("got %q", got)
	}
	for range 3 {
		if got, err := exchangeOnce(t, transport, url, "x"); err != nil || got != "200 right" {
			t.Errorf("got %q, %v", got, err)
		}
	}
}

// A server that is busy says so and closes before it has read a request, which may then not be written whole.
func TestAnAnswerBeforeTheRequestWasRead(t *testing.T) {
	url := script(t, func(conn net.Conn, _ *bufio.Reader) {
		_, _ = io.WriteString(conn, "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 4\r\n\r\nbusy")
	})
	transport := newTransport(t, url)
	for range 50 {
		if got, err := exchangeOnce(t, transport, url, strings.Repeat("x", MaxBody)); err != nil || got != "503 busy" {
			t.Fatalf("got %q, %v", got, err)
		}
	}
	if len(transport.idle) != 0 {
		t.Error("the connection was kept")
	}
}

// A server that answers before it reads is not waited for with the request, and does not wait for it either.
func TestAnAnswerWhileTheRequestIsUnread(t *testing.T) {
	url := script(t, func(conn net.Conn, in *bufio.Reader) {
		for range 2 {
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nearly")
			if !skip(in) {
				return
			}
		}
		_, _ = in.ReadByte()
	})
	if got, err := exchangeOnce(t, newTransport(t, url), url, strings.Repeat("x", MaxBody)); err != nil || got != "200 early" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestARequestThatExpectsToGoOn(t *testing.T) {
	url, conns := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // this sends 100 Continue
		_, _ = io.WriteString(w, r.Header.Get("Expect")+" "+string(body))
	})
	transport := newTransport(t, url)
	for range 2 {
		req := request(t.Context(), t, url, "hello")
		req.Header.Set("Expect", "100-continue")
		resp, err := transport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(resp.Body); err != nil || string(body) != "100-continue hello" {
			t.Errorf("got %q, %v", body, err)
		}
	}
	if n := conns.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

// A context that ends after its answer was read must not interrupt whoever has the connection then.
func TestAContextThatEndsAfterItsAnswer(t *testing.T) {
	url, conns := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
	transport := newTransport(t, url)
	for range 5 {
		ctx, cancel := context.WithCancel(t.Context())
		resp, err := transport.RoundTrip(request(ctx, t, url, "x"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(resp.Body); err != nil {
			t.Fatal(err)
		}
		cancel()
	}
	if n := conns.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := transport.RoundTrip(request(ctx, t, url, "x")); !errors.Is(err, context.Canceled) {
		t.Errorf("a request whose context has ended: %v", err)
	}
}

// Nothing that a request says may read as another request, or reach another server.
func TestRequestsThatAreRefused(t *testing.T) {
	url, conns := serve(t, func(http.ResponseWriter, *http.Request) {})
	for name, change := range map[string]func(*http.Request){
		"a line break in a header":         func(r *http.Request) { r.Header["X-A"] = []string{"b\r\nX-C: d"} },
		"a NUL in a header":                func(r *http.Request) { r.Header["X-A"] = []string{"good", "b\x00"} },
		"a name that is no name":           func(r *http.Request) { r.Header["X A"] = []string{"b"} },
		"a name with a line break":         func(r *http.Request) { r.Header["X-A: b\r\nX-C"] = []string{"d"} },
		"a name that is empty":             func(r *http.Request) { r.Header[""] = []string{"d"} },
		"a target with a line break":       func(r *http.Request) { r.URL.Opaque = "/ HTTP/1.1\r\nX-C: d\r\n\r\n" },
		"a body that is longer than said":  func(r *http.Request) { r.ContentLength = 2 },
		"a body that is shorter than said": func(r *http.Request) { r.ContentLength = 9 },
		"another server":                   func(r *http.Request) { r.URL.Host = "other.example:80" },
		"another port of the server":       func(r *http.Request) { r.URL.Host = "127.0.0.1" },
	} {
		t.Run(name, func(t *testing.T) {
			transport := newTransport(t, url)
			req := request(t.Context(), t, url, "hello")
			change(req)
			if resp, err := transport.RoundTrip(req); err == nil {
				t.Errorf("answered %s", resp.Status)
			}
			if len(transport.idle) != 0 {
				t.Error("the connection was kept")
			}
		})
	}
	if n := conns.Load(); n > 3 {
		t.Errorf("%d connections were made", n)
	}
}

// How long a body is comes from the request alone, whatever its headers say.
func TestHeadersOfFramingAreNotTakenFromTheHeader(t *testing.T) {
	url, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = io.WriteString(w, strings.Join(append([]string{string(body)}, r.TransferEncoding...), ","))
	})
	transport := newTransport(t, url)
	req := request(t.Context(), t, url, "hello")
	req.Header["Content-Length"], req.Header["Transfer-Encoding"], req.Header["Trailer"] = []string{"1"}, []string{"chunked"}, []string{"X-A"}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(resp.Body); err != nil || string(body) != "hello" {
		t.Errorf("got %q, %v", body, err)
	}
}

// A server is one however its host is written.
func TestOneServer(t *testing.T) {
	for _, tc := range [][2]string{{"localhost", "LOCALHOST:80"}, {"[::1]", "[::1]:80"}, {"a.example:8080", "A.example:8080"}} {
		req := request(t.Context(), t, "http://"+tc[1], "")
		if err := (&Transport{Host: tc[0], Dialer: net.Dialer{Timeout: time.Nanosecond}}).check(req); err != nil {
			t.Errorf("%s for %s: %v", tc[1], tc[0], err)
		}
	}
}
