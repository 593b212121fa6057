// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package requests is what a request of a client is, and what it gets: the words in which the faces, the sessions and the
// pipeline speak of one, and how it is read from a message.
//
// It decides nothing and holds nothing. It knows no HTTP, and must not import the pipeline, Kubernetes, the API or the launcher.
package requests

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"strings"

	"toolgate.dev/toolgate/internal/dispatcher/limits"
	"toolgate.dev/toolgate/internal/dispatcher/policy"
	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/jsonrpc"
)

// ErrGivenUp is the cause of a context whose request the client cancelled.
var ErrGivenUp = errors.New("the client cancelled the request")

// Source gives the connection that carries a request, and takes it back.
type Source interface {
	// Conn gives a connection and the function that gives it back, to be called once. The error is an *upstream.Error, or
	// the cause of ctx.
	Conn(ctx context.Context) (upstream.Conn, func(), error)
}

// Request is one request of a client.
type Request struct {
	// Call is the request as policy sees it; Now is filled in by the pipeline.
	Call policy.Call
	// Params are forwarded as they are, but for what Forwardable takes out.
	Params []byte
	// ID is the request's id as JSON, for its span.
	ID []byte
	// Caller is who asks, for limits and records.
	Caller Caller
	Trace  Trace
	// Source gives the connection. It may be nil for tools/list, which then answers from what discovery read.
	Source Source
	// Client is what the client can be asked meanwhile.
	Client Client
	// Progress receives the params of the server's progress notifications; nil wants none.
	Progress func(params []byte)
	// Owner travels with what the server asks meanwhile.
	Owner any
	// Deadline is the call's time-out, for whoever has to hold it.
	Deadline limits.Deadline
	// Cancel ends the context of the request, if that belongs to the request alone; nil where it does not.
	Cancel context.CancelCauseFunc
	// Cursor is that of tools/list, nil if absent.
	Cursor []byte
}

// Caller is who sends a request. Until callers are authenticated all are anonymous, and told apart by address.
type Caller struct {
	// Address is the peer's, without port.
	Address string
	// Client is what the client says of itself, for records: name and version.
	Client string
}

// Name is the caller in records.
func (c Caller) Name() string { return "anonymous@" + c.Address }

// Trace is the request's place in a distributed trace (W3C Trace Context): hex, Parent empty where there is none.
type Trace struct {
	ID, Parent string
	// Context is the whole traceparent that ID and Parent are from, State the tracestate where it does not stand in the
	// params, Ambient the traceparent of the HTTP request that brought this one.
	Context, State, Ambient string
	// Span is the request's own, set by the pipeline where spans are made; Sampled says that it is one of those that are sent.
	Span    string
	Sampled bool
}

// NewTrace takes the trace of a traceparent (`00-<32 hex>-<16 hex>-<2 hex>`), or begins one where that is absent or invalid.
func NewTrace(traceparent string) Trace {
	if traceparent != "" {
		parts := strings.Split(traceparent, "-")
		if len(parts) == 4 && len(parts[0]) == 2 && isHex(parts[1], 32) && isHex(parts[2], 16) && parts[0] != "ff" {
			return Trace{ID: parts[1], Parent: parts[2], Context: traceparent}
		}
	}
	var id [16]byte
	var text [2 * len(id)]byte
	_, _ = rand.Read(id[:]) // never fails: crypto/rand ends the process instead
	hex.Encode(text[:], id[:])
	return Trace{ID: string(text[:])}
}

func isHex(s string, n int) bool {
	return len(s) == n && strings.Trim(s, "0123456789abcdef") == "" && strings.Trim(s, "0") != ""
}

// Answer is what a request gets. Exactly one of Refusal, Result, Error, Input and Cancelled is set.
type Answer struct {
	// Refusal is the dispatcher's own no, or its word about a server that failed.
	Refusal *policy.Refusal
	// Result and Error are the server's, in its own bytes, or the dispatcher's for what it answers itself.
	Result []byte
	Error  *jsonrpc.Error
	// Input is a result of the type input_required: the client is asked for something, and continues in another request.
	Input []byte
	// Cancelled says that the client gave the request up.
	Cancelled bool
	// Era is that of the connection that carried the request; empty where none did.
	Era upstream.Era
}
