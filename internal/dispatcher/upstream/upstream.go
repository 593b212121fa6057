// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package upstream is the contract between the dispatcher and what speaks to the MCP server behind it: connections, what
// they carry, how they fail, and what is counted.
//
// The work is done below: link is what all connections have in common, with handshake to open them and lists to read the
// catalogue, over the pipes of a child process (stdio, with line) or over HTTP (streamable, with sse); pool says who owns a
// connection; probe keeps one for discovery and health. None of them decides about policy or imports Kubernetes, the API or
// the launcher: processes come through Spawner.
package upstream

import (
	"cmp"
	"context"
	"os"
	"strings"
	"time"

	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/registry"
)

// Process is one running child of a stdio server.
type Process interface {
	// Stdin is the write end of the child's standard input, Stdout the read end of its standard output; both take deadlines.
	Stdin() *os.File
	Stdout() *os.File
	// Exited is closed when the child has ended.
	Exited() <-chan struct{}
	// ExitMessage says how the child ended, in words, once Exited is closed.
	ExitMessage() string
	// StderrTail are the child's last lines on standard error.
	StderrTail() []string
	// Close closes Stdin, ends the child with all its descendants, and takes Stdout until then: its last words must not fail
	// on a broken pipe. It waits for none of that, and may be called more than once.
	Close() error
}

// Spawner starts children: the launcher's socket in a pod, or a local one at a desk.
type Spawner interface {
	Spawn(ctx context.Context) (Process, error)
}

// Era is the shape of the protocol that a connection speaks.
type Era string

// Legacy connections start with initialize (up to 2025-11-25); modern ones carry everything in each request (2026-07-28).
const (
	Legacy Era = "legacy"
	Modern Era = "modern"
)

// Hello is what a connection tells the server about the client that it serves.
type Hello struct {
	// ProtocolVersion is the client's wish; the server's answer is in Info.
	ProtocolVersion string
	// Capabilities and ClientInfo are raw JSON objects, already stripped of what policy denies.
	Capabilities []byte
	ClientInfo   []byte
	// Prefers is the era to begin with, where the server may speak both; Legacy if empty.
	Prefers Era
	// Patience is how long the handshake may take; zero means Options.StartTimeout.
	Patience time.Duration
	// Listed is told of each catalogue that is read over the connection, and must not block; nil means that nobody wants to know.
	Listed func(*Catalogue)
}

// Info is what the server said of itself when the connection started.
type Info struct {
	Era             Era
	ProtocolVersion string
	// ServerInfo, Capabilities, Instructions and Meta are raw members of the initialize or discover result; nil if absent.
	ServerInfo   []byte
	Capabilities []byte
	Instructions []byte
	Meta         []byte
}

// Call is one request to the server.
type Call struct {
	Method string
	// Params are the raw params, a checked JSON object, nil if absent. In its _meta the connection sets its own
	// progressToken when Progress is set and removes the client's otherwise. The three keys of revision 2026-07-28
	// (io.modelcontextprotocol/protocolVersion, clientCapabilities, clientInfo) are removed on a Legacy connection; on a
	// Modern one the version is the connection's, and the others are filled in from Hello where they are missing. All
	// other bytes are sent as they are.
	Params []byte
	// Progress receives the raw params of each notifications/progress of this call, in order, before Call returns; nil
	// wants none. The progressToken in them is the connection's own. It must not block.
	Progress func(params []byte)
	// Owner travels with what the server asks while this call is in flight (see Event).
	Owner any
}

// Reply is the server's answer: a result or an error, in the original bytes.
type Reply struct {
	Result []byte
	Error  *jsonrpc.Error
}

// Event is a request or notification that the server sent on its own.
type Event struct {
	Method string
	Params []byte
	// Owner is that of the call that the event belongs to: known over HTTP (same stream), and over stdio when exactly one
	// call is in flight; nil otherwise.
	Owner any
	// Exact says that Owner is known from the stream that the event came on, not inferred.
	Exact bool
}

// PartOf says whether a resource is another one, or a part of it: servers tell of parts to those who subscribed to the whole.
func PartOf(uri, whole string) bool {
	rest, ok := strings.CutPrefix(uri, whole)
	return ok && (rest == "" || strings.HasSuffix(whole, "/") || strings.ContainsAny(rest[:1], "/?#"))
}

// Handler takes what the server sends on its own, but for what the connection answers or uses itself: ping,
// notifications/progress and notifications/cancelled. Both methods are called from the connection's reader in order;
// HandleRequest is called in a goroutine of its own, HandleNotification must not block. A Dialer that gets no Handler
// refuses the requests (-32601), drops the notifications and counts both.
type Handler interface {
	// HandleRequest answers a request of the server. ctx ends when the server cancels it or the connection ends.
	HandleRequest(ctx context.Context, event Event) Reply
	HandleNotification(event Event)
}

// SlowStart is what a Handler may also be, to hear of a server that takes its time to start.
type SlowStart interface {
	// StartIsSlow is called once, when the handshake has lasted for Options.SlowAfter and still goes on.
	StartIsSlow(err *Error)
}

// Conn is one connection to the server: one child, or one session over HTTP. It is safe for concurrent use.
type Conn interface {
	Info() Info
	// Call sends a request under an id of the connection's own and waits for the answer. When ctx ends first, the server is
	// told (notifications/cancelled with that id) and ctx's cause is returned. Any other error is an *Error.
	Call(ctx context.Context, call Call) (Reply, error)
	Notify(ctx context.Context, method string, params []byte) error
	// Catalogue is the connection's own view of the server's tools; it is read again after list_changed and before the next use.
	Catalogue(ctx context.Context) (*Catalogue, error)
	// Done is closed when the connection has ended; Err says why.
	Done() <-chan struct{}
	Err() error
	Close() error
}

// Dialer opens connections to one server.
type Dialer interface {
	Dial(ctx context.Context, hello Hello, handler Handler) (Conn, error)
	Close() error
}

// Options bound a connection. Zero values are replaced by the defaults below, and by the usual numbers (registry.Usual).
type Options struct {
	// MaxMessageBytes bounds one message of the server.
	MaxMessageBytes int
	// StartTimeout bounds the handshake, ListTimeout one page of a list.
	StartTimeout time.Duration
	ListTimeout  time.Duration
	// DiscoverTimeout is how long a server that is not known to be modern may keep silent about server/discover before it is
	// spoken to as a legacy one: some answer nothing before initialize.
	DiscoverTimeout time.Duration
	// SlowAfter is after how long a handshake is called slow (SlowStart).
	SlowAfter time.Duration
	// CatalogueTTL is after how long a catalogue is read again.
	CatalogueTTL time.Duration
	// Counters are counted up; nil means that nobody reads them.
	Counters *Counters
	// Now is the clock by which catalogues age; nil means time.Now.
	Now func() time.Time
}

// The defaults of Options.
const (
	DefaultStartTimeout    = 30 * time.Second
	DefaultListTimeout     = 30 * time.Second
	DefaultDiscoverTimeout = 5 * time.Second
	DefaultSlowAfter       = 5 * time.Second
)

// WithDefaults replaces the zero values.
func (o Options) WithDefaults() Options {
	o.MaxMessageBytes = cmp.Or(o.MaxMessageBytes, registry.Usual().Limits.MaxResponseBytes)
	o.StartTimeout = cmp.Or(o.StartTimeout, DefaultStartTimeout)
	o.ListTimeout = cmp.Or(o.ListTimeout, DefaultListTimeout)
	o.DiscoverTimeout = cmp.Or(o.DiscoverTimeout, DefaultDiscoverTimeout)
	o.SlowAfter = cmp.Or(o.SlowAfter, DefaultSlowAfter)
	o.CatalogueTTL = cmp.Or(o.CatalogueTTL, time.Duration(registry.Usual().Discovery.TTLSeconds)*time.Second)
	if o.Counters == nil {
		o.Counters = new(Counters)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}
