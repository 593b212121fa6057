// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package streamable connects to a server over streamable HTTP (MCP, Transports): one in the pod on loopback, or a remote one.
//
// It owns requests and their headers, sessions, answers as JSON or as event streams whatever their label, streams that
// break, and the server's own stream. It never calls another server than that of its URL, and no error of it holds the
// value of a header or the query of the URL.
package streamable

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"sync/atomic"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/link"
	"toolgate.dev/toolgate/internal/registry"
)

// The bounds of a connection over HTTP.
const (
	dialTimeout = 5 * time.Second
	tlsTimeout  = 10 * time.Second
	// idleTimeout is below what servers in the field keep idle connections for (5 s in Node and uvicorn), so that no
	// request is sent into a connection that is being closed.
	idleTimeout      = 4 * time.Second
	maxIdle          = 64
	maxHeaderBytes   = 256 << 10
	maxErrorBody     = 64 << 10
	maxRedirects     = 3
	endTimeout       = 2 * time.Second // of the DELETE that ends a session
	maxSessionLength = 1 << 10
)

// Options say where a server is and how it is asked. Options apply as they do over stdio.
type Options struct {
	upstream.Options
	// URL is the MCP endpoint, http or https.
	URL string
	// Remote says that the server is not in the pod, which decides how it is reported as missing.
	Remote bool
	// Headers are read for each request, so that a changed file counts at once. They never replace the protocol's own.
	Headers []registry.HeaderFile
	// CAFile is a PEM bundle that replaces the system's, read for each TLS connection; "" means the system's.
	CAFile string
}

// New returns a Dialer whose connections are one session each over streamable HTTP. No other server is ever called
// than that of the URL: redirects to another origin are refused.
func New(o Options, log *slog.Logger) (upstream.Dialer, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("the upstream's url is not an absolute http or https URL")
	}
	o.Options = o.WithDefaults()
	d := &dialer{Options: o, log: log, host: u.Host}
	d.transport = &http.Transport{
		DialContext:            (&net.Dialer{Timeout: dialTimeout, KeepAlive: 15 * time.Second}).DialContext,
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    tlsTimeout,
		IdleConnTimeout:        idleTimeout,
		MaxIdleConnsPerHost:    maxIdle,
		MaxResponseHeaderBytes: maxHeaderBytes,
	}
	if o.CAFile != "" {
		d.transport.DialTLSContext = d.dialTLS
	}
	d.client = &http.Client{Transport: d.transport, CheckRedirect: checkRedirect}
	return d, nil
}

type dialer struct {
	Options
	log       *slog.Logger
	host      string
	transport *http.Transport
	client    *http.Client
	eras      link.Eras
	closed    atomic.Bool
}

func (d *dialer) Dial(ctx context.Context, hello upstream.Hello, handler upstream.Handler) (upstream.Conn, error) {
	if d.closed.Load() {
		return nil, upstream.AsError(upstream.ErrClosed, registry.FailStart)
	}
	w := &wire{dialer: d}
	w.conn = link.New(d.Options.Options, d.log, hello, handler, w)
	if err := w.conn.Start(ctx, &d.eras); err != nil {
		return nil, err
	}
	if handler != nil && w.conn.Info().Era == upstream.Legacy {
		go w.listen() //nolint:contextcheck // the connection lives on after its caller
	}
	return w.conn, nil
}

// Close ends dialling and idle connections; sessions are closed by their owners.
func (d *dialer) Close() error {
	d.closed.Store(true)
	d.transport.CloseIdleConnections()
	return nil
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
func (d *dialer) dialTLS(ctx context.Context, network, addr string) (net.Conn, error) {
	pem, err := os.ReadFile(d.CAFile)
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
	raw, err := d.transport.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	conn := tls.Client(raw, &tls.Config{RootCAs: roots, ServerName: host, NextProtos: []string{"h2", "http/1.1"}, MinVersion: tls.VersionTLS12})
	ctx, cancel := context.WithTimeout(ctx, tlsTimeout)
	defer cancel()
	if err := conn.HandshakeContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("TLS: %w", err), raw.Close())
	}
	return conn, nil
}

// wire is one session over HTTP; or none, with servers that keep no sessions.
type wire struct {
	*dialer
	conn    *link.Conn
	session atomic.Pointer[string]        // nil while there is none
	agreed  atomic.Pointer[upstream.Info] // nil until the version is known
}

func (w *wire) Leaves(era upstream.Era) bool { return era == upstream.Modern }
func (w *wire) Agree(info upstream.Info)     { w.agreed.Store(&info) }
func (w *wire) Stderr() []string             { return nil }

// modern says whether requests are those of revision 2026-07-28.
func (w *wire) modern() bool {
	info := w.agreed.Load()
	return info != nil && info.Era == upstream.Modern
}

// shut ends the session at the server, if it still knows it.
func (w *wire) Shut() {
	if w.session.Load() == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
	defer cancel()
	resp, err := w.send(ctx, http.MethodDelete, nil, nil)
	if err != nil {
		w.log.Debug("The server was not told of the session's end", "error", reason(err))
		return
	}
	discard(resp)
}
