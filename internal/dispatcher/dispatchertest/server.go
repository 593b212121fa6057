// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package dispatchertest holds an MCP server in memory and documents for it, for the tests of the dispatcher's packages.
// Nothing but tests may import it.
package dispatchertest

import (
	"bytes"
	"context"
	"sync"

	"toolgate.dev/toolgate/internal/catalog"
	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/registry"
)

// Server is an MCP server in memory: it gives connections, and notes every byte that reaches it.
type Server struct {
	// Info is what it says of itself.
	Said upstream.Info
	// Definitions are its tools.
	Definitions []string
	// Answer answers a call; nil echoes the params back as structured content.
	Answer func(ctx context.Context, c *Conn, call upstream.Call) (upstream.Reply, error)
	// Quick answers a call at once, in place of Answer; Cached is the catalogue that is not computed anew. Both are for
	// benchmarks.
	Quick  func(ctx context.Context, call upstream.Call) upstream.Reply
	Cached *upstream.Catalogue
	// DialError, if set, is what every dial gets.
	DialError error

	mu       sync.Mutex
	received bytes.Buffer
	conns    []*Conn
}

// NewServer gives a server of revision 2025-11-25 with the tools.
func NewServer(definitions ...string) *Server {
	return &Server{
		Said: upstream.Info{
			Era: upstream.Legacy, ProtocolVersion: "2025-11-25", ServerInfo: []byte(`{"name":"fake","version":"1.2.3"}`),
			Capabilities: []byte(`{"tools":{},"resources":{"subscribe":true},"prompts":{},"logging":{},"completions":{}}`),
			Instructions: []byte(`"Be kind."`),
		},
		Definitions: definitions,
	}
}

// Session gives a connection of its own to each session.
func (s *Server) Session(_ context.Context, hello upstream.Hello, handler upstream.Handler) (upstream.Conn, func(), error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.DialError != nil {
		return nil, nil, s.DialError
	}
	c := &Conn{Server: s, Hello: hello, Handler: handler, done: make(chan struct{})}
	s.conns = append(s.conns, c)
	return c, func() { _ = c.Close() }, nil
}

// Anonymous gives a fresh connection for one call.
func (s *Server) Anonymous(ctx context.Context) (upstream.Conn, func(), error) {
	return s.Session(ctx, upstream.Hello{}, nil)
}

// Catalogue is what discovery would have read.
func (s *Server) Catalogue() *upstream.Catalogue {
	if s.Cached != nil {
		return s.Cached
	}
	c := &upstream.Catalogue{Resources: -1, Prompts: -1}
	var tools []catalog.Tool
	for _, d := range s.Definitions {
		tool, err := catalog.ParseTool([]byte(d))
		c.Tools = append(c.Tools, upstream.CatalogueTool{Tool: tool, Err: err})
		tools = append(tools, tool)
	}
	c.Digest = catalog.CatalogueDigest(tools)
	return c
}

// Info is what the server said of itself.
func (s *Server) Info() (upstream.Info, bool) { return s.Said, true }

// Received is everything that calls and notifications brought, method and params one after the other.
func (s *Server) Received() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.received.String()
}

// Conns are the connections so far.
func (s *Server) Conns() []*Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*Conn(nil), s.conns...)
}

// Conn is one connection to a Server.
type Conn struct {
	Server  *Server
	Hello   upstream.Hello
	Handler upstream.Handler

	once sync.Once
	done chan struct{}
}

// Info gives what the server said of itself.
func (c *Conn) Info() upstream.Info { return c.Server.Said }

// Call notes the bytes and answers.
func (c *Conn) Call(ctx context.Context, call upstream.Call) (upstream.Reply, error) {
	if c.Server.Quick != nil {
		return c.Server.Quick(ctx, call), nil
	}
	c.note(call.Method, call.Params)
	if c.Server.Answer == nil {
		return upstream.Reply{Result: append(append([]byte(`{"content":[],"structuredContent":`), call.Params...), '}')}, nil
	}
	type outcome struct {
		reply upstream.Reply
		err   error
	}
	answered := make(chan outcome, 1)
	go func() {
		reply, err := c.Server.Answer(ctx, c, call)
		answered <- outcome{reply, err}
	}()
	select {
	case o := <-answered:
		return o.reply, o.err
	case <-c.done:
		return upstream.Reply{}, &upstream.Error{Reason: registry.FailExited, Message: "The server's process ended while it was called."}
	case <-ctx.Done():
		c.note("notifications/cancelled", nil)
		return upstream.Reply{}, context.Cause(ctx)
	}
}

func (c *Conn) note(method string, params []byte) {
	c.Server.mu.Lock()
	defer c.Server.mu.Unlock()
	c.Server.received.WriteString(method + string(params) + "\n")
}

// Notify notes the bytes.
func (c *Conn) Notify(_ context.Context, method string, params []byte) error {
	c.note(method, params)
	return nil
}

// Catalogue gives the server's tools.
func (c *Conn) Catalogue(context.Context) (*upstream.Catalogue, error) {
	return c.Server.Catalogue(), nil
}

// Done is closed by Close.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Err is always nil.
func (c *Conn) Err() error { return nil }

// Close ends the connection, as the death of the child would.
func (c *Conn) Close() error {
	c.once.Do(func() { close(c.done) })
	return nil
}
