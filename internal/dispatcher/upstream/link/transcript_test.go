// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/tools/txtar"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/handshake"
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/testutil/transcript"
)

// script plays a dialogue of a transcript against a connection. Its lines are:
//
//	prefers modern         the connection begins with the modern era; the first line, if at all
//	silent                 the server says nothing for as long as it may
//	-> MESSAGE             the connection sends this message
//	<- TEXT                the server sends this text; ! before it says that it is no message
//	call NAME METHOD PARAMS   a call begins; + before the name asks for its progress
//	NAME = RESULT          the call ends with this result, `error CODE`, `failure REASON` or `cause TEXT`
//	cancel NAME            its caller gives it up
//	progress NAME PARAMS   this progress has reached the call
//	started                the handshake has ended well
//	refused REASON         the handshake has failed
//	answer METHOD RESULT   from now on the client answers requests like this
//	told METHOD OWNER      the client has been told this notification
//	dropped N, noise N     so much has been counted since the start
type script struct {
	t    *testing.T
	conn *Conn
	wire *fakeWire

	started  chan error
	calls    map[string]*scriptCall
	answers  map[string]string
	told     chan upstream.Event
	counters upstream.Counters
}

type scriptCall struct {
	cancel   context.CancelCauseFunc
	progress []string
	ended    chan string
}

// fakeWire hands over what is sent, one message at a time.
type fakeWire struct{ sent chan string }

func (w *fakeWire) Exchange(ctx context.Context, p *Call, message []byte) error {
	p.MarkSent()
	return w.Tell(ctx, message)
}

func (w *fakeWire) Tell(ctx context.Context, message []byte) error {
	select {
	case w.sent <- string(message):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (w *fakeWire) Flush(context.Context) error { return nil }

func (w *fakeWire) Leaves(upstream.Era) bool { return false }
func (w *fakeWire) Agree(upstream.Info)      {}
func (w *fakeWire) Vet([]byte) error         { return nil }
func (w *fakeWire) Stderr() []string         { return nil }
func (w *fakeWire) Shut()                    {}

func (s *script) HandleRequest(ctx context.Context, event upstream.Event) upstream.Reply {
	if answer, ok := s.answers[event.Method]; ok {
		return upstream.Reply{Result: []byte(answer)}
	}
	<-ctx.Done() // until the server cancels it, or the connection ends
	return upstream.Reply{}
}

func (s *script) HandleNotification(event upstream.Event) { s.told <- event }

func TestTranscripts(t *testing.T) {
	transcript.Play(t, "testdata/*.txtar", func(t *testing.T, parts []txtar.File) {
		for _, part := range parts {
			t.Run(part.Name, func(t *testing.T) { play(t, part.Data) })
		}
	})
}

func play(t *testing.T, dialogue []byte) {
	leaks := goleak.IgnoreCurrent()
	s := &script{
		t: t, wire: &fakeWire{make(chan string)}, started: make(chan error, 1), calls: map[string]*scriptCall{},
		answers: map[string]string{}, told: make(chan upstream.Event, 100),
	}
	var hello upstream.Hello
	if rest, ok := bytes.CutPrefix(dialogue, []byte("prefers modern\n")); ok {
		hello.Prefers, dialogue = upstream.Modern, rest
	}
	opts := upstream.Options{Counters: &s.counters}
	if bytes.Contains(dialogue, []byte("\nsilent\n")) {
		opts.DiscoverTimeout = time.Millisecond
	}
	s.conn = newConn(opts.WithDefaults(), slog.New(slog.DiscardHandler), hello, s, s.wire)
	go func() { s.started <- s.conn.Start(t.Context(), new(handshake.Eras)) }()
	for number, line := range bytes.Split(bytes.TrimSpace(dialogue), []byte("\n")) {
		if err := s.line(string(line)); err != nil {
			t.Errorf("line %d: %v", number+1, err)
			break
		}
	}
	if err := s.conn.Close(); err != nil {
		t.Error(err)
	}
	goleak.VerifyNone(t, leaks)
}

func (s *script) line(line string) error {
	word, rest, _ := strings.Cut(line, " ")
	switch word {
	case "", "#", "silent":
		return nil
	case "->":
		return same(<-s.wire.sent, rest)
	case "<-":
		text, isNoise := strings.CutPrefix(rest, "!")
		if was := s.conn.Receive([]byte(text), nil); was == isNoise {
			return fmt.Errorf("taken as a message: %v", was)
		}
		return nil
	case "call":
		s.call(rest)
		return nil
	case "cancel":
		s.calls[rest].cancel(errors.New("given up"))
		return nil
	case "progress":
		return s.progressed(rest)
	case "started", "refused":
		return s.handshake(rest)
	case "answer":
		method, result, _ := strings.Cut(rest, " ")
		s.answers[method] = result
		return nil
	case "told":
		event := <-s.told
		return same(fmt.Sprintf("%s %v", event.Method, event.Owner), rest)
	case "dropped":
		return same(fmt.Sprint(s.counters.DroppedMessages.Load()), rest)
	}
	c, ok := s.calls[word]
	if !ok || !strings.HasPrefix(rest, "= ") {
		return fmt.Errorf("unknown line %q", line)
	}
	return same(<-c.ended, rest[2:])
}

func same(got, want string) error {
	if got != want {
		return fmt.Errorf("got  %s\nwant %s", got, want)
	}
	return nil
}

func (s *script) progressed(rest string) error {
	name, params, _ := strings.Cut(rest, " ")
	c := s.calls[name]
	if len(c.progress) == 0 {
		return errors.New("no progress")
	}
	got := c.progress[0]
	c.progress = c.progress[1:]
	return same(got, params)
}

func (s *script) handshake(want string) error {
	err := <-s.started
	if err == nil {
		return same("", want)
	}
	return same(outcome(upstream.Reply{}, err), want)
}

func (s *script) call(rest string) {
	parts := strings.SplitN(rest, " ", 3)
	name, wantsProgress := strings.CutPrefix(parts[0], "+")
	c := &scriptCall{ended: make(chan string, 1)}
	s.calls[name] = c
	request := upstream.Call{Method: parts[1], Owner: name}
	if len(parts) == 3 {
		request.Params = []byte(parts[2])
	}
	if wantsProgress {
		request.Progress = func(params []byte) { c.progress = append(c.progress, string(params)) }
	}
	ctx, cancel := context.WithCancelCause(s.t.Context())
	c.cancel = cancel
	go func() {
		defer cancel(nil)
		c.ended <- outcome(s.conn.Call(ctx, request))
	}()
}

func outcome(reply upstream.Reply, err error) string {
	var failure *upstream.Error
	switch {
	case errors.As(err, &failure):
		return "failure " + string(failure.Reason)
	case err != nil:
		return "cause " + err.Error()
	case reply.Error != nil:
		return string(jsonrpc.AppendError(nil, jsonrpc.ID{}, reply.Error))
	}
	return string(reply.Result)
}
