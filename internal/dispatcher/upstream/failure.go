// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"errors"
	"fmt"
	"net"
	"sync/atomic"

	"toolgate.dev/toolgate/internal/registry"
)

// Error is a failure of the server or of the way to it.
type Error struct {
	Reason registry.FailureReason
	// Message says what happened and what to do, in a sentence, without the server's own output.
	Message string
	// Stderr are the child's last lines, for people.
	Stderr []string
	Err    error
}

func (e *Error) Error() string { return e.Message }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// What an *Error may wrap, for errors.Is.
var (
	// ErrClosed says that the connection was closed by its owner.
	ErrClosed = errors.New("connection closed")
	// ErrTooLarge says that the server's answer is over Options.MaxMessageBytes.
	ErrTooLarge = errors.New("answer too large")
	// ErrNotStrict says that the server's answer is not one strict JSON-RPC message.
	ErrNotStrict = errors.New("answer is not strict JSON-RPC")
)

// Counters count what happens on connections. The zero value is ready; it is safe for concurrent use.
type Counters struct {
	// StdoutNoise are lines on standard output that were not JSON-RPC, ChildStarts and ChildDeaths the processes that were
	// started and that ended without being asked to, DroppedMessages what the server sent and nobody wanted, HeldBack the
	// starts that were refused because the ones before had failed.
	StdoutNoise, ChildStarts, ChildDeaths, DroppedMessages, HeldBack atomic.Int64
	// Waiting is how many messages wait for room towards the server at this moment.
	Waiting atomic.Int64
}

// The shape in which the standard error of a child reaches people (registry.UpstreamState).
const (
	maxStderrLines = 20
	maxStderrLine  = 1 << 10
)

// NotListening says whether a connection could not even be opened: nothing is there that takes it.
func NotListening(err error) bool {
	var dial *net.OpError
	return errors.As(err, &dial) && dial.Op == "dial"
}

// Fail makes an Error of a cause, which may be nil, and a sentence.
func Fail(reason registry.FailureReason, cause error, format string, args ...any) *Error {
	return &Error{Reason: reason, Message: fmt.Sprintf(format, args...), Err: cause}
}

// WithStderr adds a child's last lines to an error that has none.
func (e *Error) WithStderr(lines []string) *Error {
	if len(e.Stderr) > 0 || len(lines) == 0 {
		return e
	}
	lines = lines[len(lines)-min(maxStderrLines, len(lines)):]
	c := *e
	c.Stderr = make([]string, len(lines))
	for i, l := range lines {
		c.Stderr[i] = l[:min(maxStderrLine, len(l))]
	}
	return &c
}

// AsError gives the *Error in err, or makes one of reason.
func AsError(err error, reason registry.FailureReason) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return Fail(reason, err, "%s", err.Error())
}
