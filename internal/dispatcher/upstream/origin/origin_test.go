// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package origin

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/registry"
)

func newOrigin(t *testing.T, o Options, handler http.HandlerFunc) *Origin {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	o.URL = server.URL
	origin, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(origin.Close)
	return origin
}

// encoders are the encodings of HTTP, by name; the writer flushes.
var encoders = map[string]func(io.Writer) io.WriteCloser{
	"gzip":    func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
	"x-gzip":  func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
	"BR":      func(w io.Writer) io.WriteCloser { return brotli.NewWriter(w) },
	"deflate": func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) },
	"zstd": func(w io.Writer) io.WriteCloser {
		z, _ := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1)) // the options are fine
		return z
	},
}

func bareDeflate(w io.Writer) io.WriteCloser {
	f, _ := flate.NewWriter(w, flate.DefaultCompression) // the level is fine
	return f
}

func TestAnswersAreDecoded(t *testing.T) { // G-33, G-34, G-35
	const text = `{"jsonrpc":"2.0","id":1,"result":{}}`
	check := func(name, label string, encode func(io.Writer) io.WriteCloser) {
		t.Run(name, func(t *testing.T) {
			var body bytes.Buffer
			w := encode(&body)
			_, err := io.WriteString(w, text)
			if err := errors.Join(err, w.Close()); err != nil {
				t.Fatal(err)
			}
			o := newOrigin(t, Options{}, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Encoding", label)
				_, _ = w.Write(body.Bytes())
			})
			resp, err := o.Send(t.Context(), Request{Method: http.MethodPost})
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(resp.Body)
			if err := errors.Join(err, resp.Body.Close()); err != nil || string(got) != text {
				t.Errorf("got %q, %v", got, err)
			}
			if resp.Header.Get("Content-Encoding") != "" || resp.Header.Get("Content-Length") != "" || resp.ContentLength != -1 {
				t.Errorf("the headers still tell of the encoded body: %v, %d bytes", resp.Header, resp.ContentLength)
			}
		})
	}
	for name, encode := range encoders {
		check(name, name, encode)
	}
	check("deflate without its wrapper", "deflate", bareDeflate)
	check("two over each other", "gzip, identity, br", func(w io.Writer) io.WriteCloser {
		outer := encoders["BR"](w)
		return both{encoders["gzip"](outer), outer}
	})
}

// both closes the outer of two encoders with the inner one.
type both struct {
	io.WriteCloser
	outer io.Closer
}

func (b both) Close() error { return errors.Join(b.WriteCloser.Close(), b.outer.Close()) }

// TestEncodedStreamsAreReadAsTheyCome wants each event before the next is written.
func TestEncodedStreamsAreReadAsTheyCome(t *testing.T) {
	for name, encode := range encoders {
		t.Run(name, func(t *testing.T) {
			next := make(chan struct{})
			o := newOrigin(t, Options{}, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Encoding", name)
				w.WriteHeader(http.StatusOK)
				http.NewResponseController(w).Flush() //nolint:errcheck // the reader would notice
				encoder := encode(w)
				for range 3 {
					<-next
					_, _ = io.WriteString(encoder, "data: {}\n\n")
					_ = encoder.(interface{ Flush() error }).Flush()
					http.NewResponseController(w).Flush() //nolint:errcheck // the reader would notice
				}
				_ = encoder.Close()
			})
			resp, err := o.Send(t.Context(), Request{Method: http.MethodGet}) // before the first byte of the body
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close() //nolint:errcheck // what matters was read
			for range 3 {
				next <- struct{}{}
				event := make([]byte, len("data: {}\n\n"))
				if _, err := io.ReadFull(resp.Body, event); err != nil || string(event) != "data: {}\n\n" {
					t.Fatalf("got %q, %v", event, err)
				}
			}
			if rest, err := io.ReadAll(resp.Body); err != nil || len(rest) > 0 {
				t.Errorf("then %q, %v", rest, err)
			}
		})
	}
}

func TestWhatCannotBeDecoded(t *testing.T) {
	for name, tc := range map[string]struct{ label, body, says string }{
		"an unknown encoding":   {"compress", "x", "Content-Encoding that is not known"},
		"three over each other": {"gzip, br, gzip", "x", "Content-Encoding that is not known"},
		"text as gzip":          {"gzip", strings.Repeat(`{"a":1}`, 9), "not encoded as"},
		"text as zstd":          {"zstd", strings.Repeat(`{"a":1}`, 9), "not encoded as"},
		"text as brotli":        {"br", strings.Repeat(`{"a":1}`, 9), "not encoded as"},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOrigin(t, Options{}, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Encoding", tc.label)
				_, _ = io.WriteString(w, tc.body)
			})
			resp, err := o.Send(t.Context(), Request{Method: http.MethodPost})
			if err == nil {
				_, err = io.ReadAll(resp.Body)
				_ = resp.Body.Close()
			}
			if e := o.Broken(err); err == nil || e.Reason != registry.FailNotMCP || !strings.Contains(e.Message, tc.says) {
				t.Errorf("error %v, want %q", err, tc.says)
			}
		})
	}
	t.Run("nothing at all is an empty body", func(t *testing.T) {
		o := newOrigin(t, Options{}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			w.WriteHeader(http.StatusAccepted)
		})
		resp, err := o.Send(t.Context(), Request{Method: http.MethodPost})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(resp.Body); err != nil || len(got) > 0 {
			t.Errorf("got %q, %v", got, err)
		}
		_ = resp.Body.Close()
	})
}

func TestWhatIsAskedFor(t *testing.T) {
	for remote, want := range map[bool]string{false: "identity", true: "gzip, br, zstd"} {
		o := newOrigin(t, Options{Remote: remote}, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, r.Header.Get("Accept-Encoding")+"|"+r.Header.Get("User-Agent"))
		})
		resp, err := o.Send(t.Context(), Request{Method: http.MethodGet})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(resp.Body); err != nil || string(got) != want+"|toolgate" {
			t.Errorf("remote %v: asked for %q, %v", remote, got, err)
		}
		_ = resp.Body.Close()
	}
}

func TestNewRefusesWhatIsNoURL(t *testing.T) {
	for _, u := range []string{"", "ftp://x/", "/mcp", "http://", "http://a b/"} {
		if _, err := New(Options{URL: u}); err == nil {
			t.Errorf("%q was accepted", u)
		}
	}
}

func TestSame(t *testing.T) {
	o, err := New(Options{URL: "https://Example.com/sse"})
	if err != nil {
		t.Fatal(err)
	}
	for raw, want := range map[string]bool{
		"https://example.com/messages": true, "https://example.com:443/": true, "https://EXAMPLE.com/?a=b": true,
		"http://example.com/": false, "https://example.com:8443/": false, "https://example.org/": false, "https://example.com.evil.org/": false,
		"//example.com/": false, "https://example.com@evil.org/": false,
	} {
		u, err := url.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		if o.Same(u) != want {
			t.Errorf("%s: %v, want %v", raw, !want, want)
		}
	}
}

func TestRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		remote bool
		status int
		want   registry.FailureReason
	}{
		"credentials":            {false, 401, registry.FailUnauthorized},
		"rights":                 {true, 403, registry.FailUnauthorized},
		"a redirect":             {false, 302, registry.FailNotMCP},
		"another path":           {true, 404, registry.FailNotMCP},
		"a gateway's own answer": {true, 502, registry.FailUnreachable},
		"too many requests":      {true, 429, registry.FailUnreachable},
		"a fault in the pod":     {false, 500, registry.FailNotMCP},
		"nothing":                {false, 202, registry.FailNotMCP},
	} {
		t.Run(name, func(t *testing.T) {
			o, err := New(Options{URL: "http://example.com/", Remote: tc.remote})
			if err != nil {
				t.Fatal(err)
			}
			var e *upstream.Error
			if err := error(o.Refused(tc.status, "endpoint")); !errors.As(err, &e) || e.Reason != tc.want || e.Message == "" {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}

// At a desk a URL may name the user: that reaches the server, whichever way a request goes.
func TestTheUserOfTheURL(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		_, _ = io.WriteString(w, user+" "+password)
	}))
	t.Cleanup(server.Close)
	o, err := New(Options{URL: strings.Replace(server.URL, "://", "://me:secret@", 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.Close)
	resp, err := o.Send(t.Context(), Request{Method: http.MethodPost, Body: []byte("{}")})
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil || string(got) != "me secret" {
		t.Errorf("got %q, %v", got, err)
	}
}
