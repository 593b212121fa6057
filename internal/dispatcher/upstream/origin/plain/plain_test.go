// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plain

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// counted is a listener that counts connections.
type counted struct {
	net.Listener
	n atomic.Int64
}

func (c *counted) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err == nil {
		c.n.Add(1)
	}
	return conn, err
}

func newTransport(tb testing.TB, server string) *Transport {
	t := &Transport{Host: strings.TrimPrefix(server, "http://"), MaxIdle: 8, IdleTimeout: time.Minute, MaxHeaderBytes: 4 << 10}
	tb.Cleanup(t.CloseIdleConnections)
	return t
}

// serve starts a server, and gives its URL and how many connections were made to it.
func serve(tb testing.TB, h http.HandlerFunc) (string, *atomic.Int64) {
	s := httptest.NewUnstartedServer(h)
	c := &counted{Listener: s.Listener}
	s.Listener = c
	s.Start()
	tb.Cleanup(s.Close)
	return s.URL, &c.n
}

func request(ctx context.Context, tb testing.TB, url, body string) *http.Request {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		tb.Fatal(err)
	}
	req.Header.Set("User-Agent", "toolgate")
	return req
}

func exchangeOnce(t *testing.T, transport http.RoundTripper, url, body string) (string, error) {
	t.Helper()
	resp, err := transport.RoundTrip(request(t.Context(), t, url, body))
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	return fmt.Sprintf("%d %s", resp.StatusCode, data), err
}

func TestConnectionsAreUsedAgain(t *testing.T) {
	cases := map[string]struct {
		handler   http.HandlerFunc
		want      string
		wantConns int64
	}{
		"an answer whose length is known": {func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			_, _ = w.Write(append([]byte(r.Method+" "), body...))
		}, "200 POST hello", 1},
		"an answer in chunks": {func(w http.ResponseWriter, _ *http.Request) {
			for range 3 {
				_, _ = io.WriteString(w, "part,")
				_ = http.NewResponseController(w).Flush()
			}
		}, "200 part,part,part,", 1},
		"an answer without a body": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) }, "202 ", 1},
		"an answer after another that is none": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusEarlyHints)
			_, _ = io.WriteString(w, "at last")
		}, "200 at last", 1},
		"an answer by which the server closes": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Connection", "close")
			_, _ = io.WriteString(w, "bye")
		}, "200 bye", 3},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			url, conns := serve(t, tc.handler)
			transport := newTransport(t, url)
			for range 3 {
				if got, err := exchangeOnce(t, transport, url, "hello"); err != nil || got != tc.want {
					t.Errorf("got %q, %v, want %q", got, err, tc.want)
				}
			}
			if got := conns.Load(); got != tc.wantConns {
				t.Errorf("%d connections, want %d", got, tc.wantConns)
			}
		})
	}
}

// script is a server that answers each connection's requests by bytes that no proper one would send.
func script(t *testing.T, play func(conn net.Conn, in *bufio.Reader)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	group.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			group.Go(func() {
				defer func() { _ = conn.Close() }()
				play(conn, bufio.NewReader(conn))
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		group.Wait()
	})
	return "http://" + listener.Addr().String()
}

// skip reads a whole request.
func skip(in *bufio.Reader) bool {
	req, err := http.ReadRequest(in)
	if err != nil {
		return false
	}
	_, err = io.Copy(io.Discard, req.Body)
	return err == nil
}

func TestAConnectionThatTheServerClosedIsNotUsed(t *testing.T) {
	closed := make(chan struct{}, 8)
	url := script(t, func(conn net.Conn, in *bufio.Reader) {
		if skip(in) {
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
			_ = conn.Close()
			closed <- struct{}{}
		}
	})
	transport := newTransport(t, url)
	for range 5 {
		if got, err := exchangeOnce(t, transport, url, "x"); err != nil || got != "200 ok" {
			t.Fatalf("%q, %v", got, err)
		}
		<-closed
		// The end of the connection is on its way over loopback; the next request waits until it has arrived.
		for c := transport.pop(); c != nil; c = nil {
			for deadline := time.After(10 * time.Second); c.quiet(); {
				select {
				case <-deadline:
					t.Fatal("the end of the connection does not arrive")
				case <-time.After(time.Millisecond):
				}
			}
			transport.keep(c)
		}
	}
}

func TestWhatNobodyAskedForIsNoAnswer(t *testing.T) {
	url := script(t, func(conn net.Conn, in *bufio.Reader) {
		for skip(in) {
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ntrueHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfalse")
		}
	})
	transport := newTransport(t, url)
	for range 3 {
		if got, err := exchangeOnce(t, transport, url, "x"); err != nil || got != "200 true" {
			t.Errorf("%q, %v", got, err)
		}
	}
}

func TestBrokenAnswers(t *testing.T) {
	for name, bytes := range map[string]string{
		"nothing at all":          "",
		"no HTTP":                 "SSH-2.0-OpenSSH\r\n\r\n",
		"half a head":             "HTTP/1.1 200 OK\r\nContent-",
		"half a body":             "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf",
		"headers without end":     "HTTP/1.1 200 OK\r\n" + strings.Repeat("X-Header: value\r\n", 1000) + "\r\n",
		"a chunk without end":     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffff\r\nshort",
		"a length that is none":   "HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n",
		"two lengths that differ": "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
	} {
		t.Run(name, func(t *testing.T) {
			url := script(t, func(conn net.Conn, in *bufio.Reader) {
				if skip(in) {
					_, _ = io.WriteString(conn, bytes)
				}
			})
			transport := newTransport(t, url)
			if got, err := exchangeOnce(t, transport, url, "x"); err == nil {
				t.Errorf("got %q", got)
			}
			if len(transport.idle) != 0 {
				t.Error("the connection was kept")
			}
		})
	}
}

func TestACancelledRequestEndsAtOnce(t *testing.T) {
	for name, before := range map[string]string{"before the answer": "", "within the answer": "first part"} {
		t.Run(name, func(t *testing.T) {
			begun, gone := make(chan struct{}), make(chan struct{})
			url, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				if before != "" {
					_, _ = io.WriteString(w, before)
					_ = http.NewResponseController(w).Flush()
				}
				close(begun)
				<-r.Context().Done()
				close(gone)
			})
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				<-begun
				cancel()
			}()
			transport := newTransport(t, url)
			resp, err := transport.RoundTrip(request(ctx, t, url, "x"))
			if err == nil {
				_, err = io.ReadAll(resp.Body)
				_ = resp.Body.Close()
			}
			if !errors.Is(err, context.Canceled) {
				t.Errorf("error %v, want that of the context", err)
			}
			<-gone // the server is told by the end of the connection
		})
	}
}

func TestAnAnswerThatIsGivenUpClosesItsConnection(t *testing.T) {
	gone := make(chan struct{})
	url, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(gone)
	})
	resp, err := newTransport(t, url).RoundTrip(request(t.Context(), t, url, "x"))
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	<-gone
}

func TestIdleConnectionsEnd(t *testing.T) {
	url, _ := serve(t, func(http.ResponseWriter, *http.Request) {})
	transport := newTransport(t, url)
	transport.IdleTimeout = time.Millisecond
	if _, err := exchangeOnce(t, transport, url, "x"); err != nil {
		t.Fatal(err)
	}
	for deadline := time.After(10 * time.Second); ; {
		transport.mu.Lock()
		left := len(transport.idle)
		transport.mu.Unlock()
		if left == 0 {
			return
		}
		select {
		case <-deadline:
			t.Fatal("an idle connection was kept")
		case <-time.After(time.Millisecond):
		}
	}
}

func TestManyAtOnce(t *testing.T) {
	url, conns := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = w.Write(bytes.Repeat(body, 2000))
	})
	transport := newTransport(t, url)
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for j := range 50 {
				word := fmt.Sprintf("%d-%d ", i, j)
				if got, err := exchangeOnce(t, transport, url, word); err != nil || got != "200 "+strings.Repeat(word, 2000) {
					t.Errorf("%s: %d bytes, %v", word, len(got), err)
				}
			}
		})
	}
	group.Wait()
	if got := conns.Load(); got > 50 {
		t.Errorf("%d connections for 8 callers", got)
	}
}

// BenchmarkRoundTrip compares with net/http's own.
func BenchmarkRoundTrip(b *testing.B) {
	body := bytes.Repeat([]byte("x"), 1<<10)
	url, _ := serve(b, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = w.Write(body)
	})
	standard := &http.Transport{}
	b.Cleanup(standard.CloseIdleConnections)
	for name, transport := range map[string]http.RoundTripper{"plain": newTransport(b, url), "standard": standard} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				resp, err := transport.RoundTrip(request(b.Context(), b, url, "hello"))
				if err != nil {
					b.Fatal(err)
				}
				if _, err := io.Copy(io.Discard, resp.Body); err != nil {
					b.Fatal(err)
				}
				_ = resp.Body.Close()
			}
		})
	}
}
