// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package origin is the way to one server over HTTP, whatever is spoken there: in the pod on loopback, or a remote one.
//
// It owns TCP and TLS connections, the configured headers, redirects, what the encoding of an answer is, and what a failure of
// HTTP means. It never calls another server than that of its URL, and no error of it holds the value of a header or the
// query of the URL. It knows nothing of MCP's messages.
package origin

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/upstream/origin/plain"
	"toolgate.dev/toolgate/internal/registry"
)

// The bounds of a connection over HTTP.
const (
	dialTimeout = 5 * time.Second
	tlsTimeout  = 10 * time.Second
	// idleTimeout is below what servers in the field keep idle connections for (5 s in Node and uvicorn), so that no
	// request is sent into a connection that is being closed.
	idleTimeout    = 4 * time.Second
	maxIdle        = 64
	maxHeaderBytes = 256 << 10
	maxRedirects   = 3
	maxHeaderFile  = 16 << 10 // of one header's file
)

// MaxErrorBody bounds what is read of an answer that is no success, in bytes.
const MaxErrorBody = 64 << 10

// Options say where a server is and how it is asked.
type Options struct {
	// URL is the MCP endpoint, http or https.
	URL string
	// Remote says that the server is not in the pod, which decides how it is reported as missing, and whether it is asked to
	// compress: on loopback that costs more than it saves.
	Remote bool
	// Headers are read for each request, so that a changed file counts at once. They never replace the protocol's own.
	Headers []registry.HeaderFile
	// CAFile is a PEM bundle that replaces the system's, read for each TLS connection; "" means the system's.
	CAFile string
	// HTTP1 keeps to HTTP/1.1, which alone can become a WebSocket.
	HTTP1 bool
}

// Origin is one server. It is safe for concurrent use.
type Origin struct {
	Options
	url       *url.URL
	transport *http.Transport
	plain     *plain.Transport
	client    *http.Client
}

// New returns the way to a server. It connects to nothing yet.
func New(o Options) (*Origin, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("the upstream's url is not an absolute http or https URL")
	}
	d := &Origin{Options: o, url: u}
	d.transport = &http.Transport{
		DialContext:            (&net.Dialer{Timeout: dialTimeout, KeepAlive: 15 * time.Second}).DialContext,
		ForceAttemptHTTP2:      !o.HTTP1,
		DisableCompression:     true, // encodings are read here, so that none is missed and each is bounded
		TLSHandshakeTimeout:    tlsTimeout,
		IdleConnTimeout:        idleTimeout,
		MaxIdleConnsPerHost:    maxIdle,
		MaxResponseHeaderBytes: maxHeaderBytes,
	}
	if o.CAFile != "" {
		d.transport.DialTLSContext = d.dialTLS
	}
	d.plain = &plain.Transport{
		Host:    u.Host,
		Dialer:  net.Dialer{Timeout: dialTimeout, KeepAlive: 15 * time.Second},
		MaxIdle: maxIdle, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
	}
	d.client = &http.Client{Transport: d, CheckRedirect: checkRedirect}
	return d, nil
}

// Host is the server's host and port, as its URL has them.
func (o *Origin) Host() string { return o.url.Host }

// Client is what all requests are made with. Its answers are not decoded.
func (o *Origin) Client() *http.Client { return o.client }

// RoundTrip carries one request out, by the shorter way where that will do: what is short, without TLS, and no WebSocket.
func (o *Origin) RoundTrip(req *http.Request) (*http.Response, error) {
	if o.short(req) {
		return o.plain.RoundTrip(req)
	}
	return o.transport.RoundTrip(req)
}

func (o *Origin) short(req *http.Request) bool {
	return !o.HTTP1 && req.URL.Scheme == "http" && req.URL.User == nil && 0 <= req.ContentLength && req.ContentLength <= plain.MaxBody
}

// do is what the client does. What goes the shorter way does without it, unless the answer leads elsewhere: then the server
// is asked again, as it has done nothing yet.
func (o *Origin) do(req *http.Request, body []byte) (*http.Response, error) {
	if o.short(req) {
		resp, err := o.plain.RoundTrip(req)
		if err != nil || resp.StatusCode < 300 || resp.StatusCode > 399 {
			return resp, err
		}
		Discard(resp)
		req.Body = newPayload(body)
	}
	req.GetBody = func() (io.ReadCloser, error) { return newPayload(body), nil }
	return o.client.Do(req)
}

// payload is the body of a request.
type payload struct{ bytes.Reader }

func (*payload) Close() error { return nil }

func newPayload(body []byte) io.ReadCloser {
	if len(body) == 0 {
		return http.NoBody
	}
	p := &payload{}
	p.Reset(body)
	return p
}

// Close closes idle connections.
func (o *Origin) Close() {
	o.transport.CloseIdleConnections()
	o.plain.CloseIdleConnections()
}

// Request is one request to the server.
type Request struct {
	// Method and Target say what is asked; Target is the whole URL if it is "", else another one of the same server.
	Method, Target string
	Body           []byte
	// Header are the protocol's own headers. They win over the configured ones. Send adds others to them.
	Header http.Header
}

// Send makes a request. The body of the answer is decoded, without a bound on its size, and its headers no longer say that
// it was encoded.
func (o *Origin) Send(ctx context.Context, r Request) (*http.Response, error) {
	target := o.url
	if r.Target != "" {
		var err error
		if target, err = url.Parse(r.Target); err != nil {
			return nil, err
		}
	}
	if r.Header == nil {
		r.Header = http.Header{}
	}
	r.Header["Accept-Encoding"] = o.acceptEncoding()
	if err := o.Configure(r.Header); err != nil {
		return nil, err
	}
	resp, err := o.do(request(ctx, r, target), r.Body)
	if err != nil {
		return nil, err
	}
	if err := decode(resp); err != nil {
		return nil, errors.Join(err, resp.Body.Close())
	}
	return resp, nil
}

// request makes what http.NewRequestWithContext would, without reading the URL each time.
func request(ctx context.Context, r Request, target *url.URL) *http.Request {
	req := &http.Request{
		Method: r.Method, URL: target, Host: target.Host, Header: r.Header, ContentLength: int64(len(r.Body)),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Body: newPayload(r.Body),
	}
	return req.WithContext(ctx)
}

var userAgent = []string{"toolgate"}

// Configure adds the headers that every request has, and replaces none.
func (o *Origin) Configure(header http.Header) error {
	for _, h := range o.Headers {
		value, err := headerValue(h)
		if err != nil {
			return err
		}
		if header.Get(h.Name) == "" {
			header.Set(h.Name, value)
		}
	}
	header["User-Agent"] = userAgent
	return nil
}

// Same says whether a URL leads to this server, by scheme, host and port.
func (o *Origin) Same(u *url.URL) bool {
	return u.Scheme == o.url.Scheme && strings.EqualFold(u.Hostname(), o.url.Hostname()) && port(u) == port(o.url)
}

func port(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}

// checkRedirect follows only what asks the same server the same thing again.
func checkRedirect(next *http.Request, via []*http.Request) error {
	first := via[0]
	if len(via) > maxRedirects || next.Method != first.Method || next.URL.Host != first.URL.Host || next.URL.Scheme != first.URL.Scheme {
		return http.ErrUseLastResponse
	}
	return nil
}

// dialTLS trusts the bundle as it is in its file now.
func (o *Origin) dialTLS(ctx context.Context, network, addr string) (net.Conn, error) {
	pem, err := os.ReadFile(o.CAFile)
	if err != nil {
		return nil, fmt.Errorf("reading the CA bundle: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, errors.New("the CA bundle holds no PEM certificate")
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("reading the server's address: %w", err)
	}
	raw, err := o.transport.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	protocols := []string{"h2", "http/1.1"}
	if o.HTTP1 {
		protocols = protocols[1:]
	}
	conn := tls.Client(raw, &tls.Config{RootCAs: roots, ServerName: host, NextProtos: protocols, MinVersion: tls.VersionTLS12})
	ctx, cancel := context.WithTimeout(ctx, tlsTimeout)
	defer cancel()
	if err := conn.HandshakeContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("TLS: %w", err), raw.Close())
	}
	return conn, nil
}

// headerValue reads a header's file. The error never holds what the file does.
func headerValue(h registry.HeaderFile) (string, error) {
	file, err := os.Open(h.File)
	if err != nil {
		return "", unauthorized(err, h)
	}
	defer file.Close() //nolint:errcheck // it was only read
	raw, err := io.ReadAll(io.LimitReader(file, maxHeaderFile+1))
	if err != nil {
		return "", unauthorized(err, h)
	}
	value := strings.TrimSpace(string(raw))
	if len(raw) > maxHeaderFile || strings.IndexFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) >= 0 {
		return "", unauthorized(errors.New("it is too long, or has line breaks or control characters"), h)
	}
	return value, nil
}
