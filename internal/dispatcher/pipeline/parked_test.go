// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/dispatchertest"
	"toolgate.dev/toolgate/internal/dispatcher/policy"
	"toolgate.dev/toolgate/internal/dispatcher/requests"
	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/registry"
)

const ask = `{"message":"Sure?","requestedSchema":{"type":"object"}}`

// parkedFixture has a server of an earlier revision whose tool asks for a form before it answers with what it was told. ended
// hears how each call of it ended.
func parkedFixture(t *testing.T, change func(*registry.Document)) (*fixture, chan error) {
	t.Helper()
	f := newFixture(t, change)
	ended := make(chan error, 100)
	f.server.Answer = func(ctx context.Context, c *dispatchertest.Conn, call upstream.Call) (upstream.Reply, error) {
		if call.Progress != nil {
			call.Progress([]byte(`{"progress":1}`))
		}
		reply := c.Handler.HandleRequest(ctx, upstream.Event{Method: "elicitation/create", Params: []byte(ask), Owner: call.Owner})
		ended <- context.Cause(ctx)
		if call.Progress != nil {
			call.Progress([]byte(`{"progress":2}`))
		}
		if reply.Error != nil {
			return upstream.Reply{}, context.Cause(ctx)
		}
		return upstream.Reply{Result: append(append([]byte(`{"content":[],"structuredContent":`), reply.Result...), '}')}, nil
	}
	t.Cleanup(f.Close)
	return f, ended
}

// turn is one round of a call of plain by a client of revision 2026-07-28, given as state and responses, raw.
func (f *fixture) turn(ctx context.Context, arguments, state, responses string, progress func([]byte)) requests.Answer {
	c := requests.Client{Capabilities: []byte(`{"elicitation":{}}`), Form: true, Rounds: true, Dial: f.server.Session}
	if state != "" {
		c.State, c.Responses = []byte(state), []byte(responses)
	}
	return f.Do(ctx, &requests.Request{
		Call:   policy.Call{Method: "tools/call", Tool: "plain", Arguments: []byte(arguments), ProtocolVersion: "2026-07-28"},
		Params: fmt.Appendf(nil, `{"name":"plain","arguments":%s}`, arguments), Source: f, Caller: requests.Caller{Address: "10.0.0.1"}, Client: c, Progress: progress,
	})
}

// inputOf gives state, raw, and key of what an answer asks for.
func inputOf(t *testing.T, a requests.Answer) (state, key string) {
	t.Helper()
	requests, _ := jsonrpc.Member(a.Input, "inputRequests")
	for k := range jsonrpc.Members(requests) {
		key = k
	}
	raw, _ := jsonrpc.Member(a.Input, "requestState")
	if key == "" || raw == nil {
		t.Fatalf("nothing is asked: %s %+v", a.Input, a.Refusal)
	}
	return string(raw), key
}

const given = `{"%s":{"action":"accept","content":{}}}`

func TestParkedCallGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, ended := parkedFixture(t, trusted)
		var progress []string
		note := func(round string) func([]byte) { return func([]byte) { progress = append(progress, round) } }
		state, key := inputOf(t, f.turn(t.Context(), `{}`, "", "", note("first")))
		time.Sleep(9 * time.Minute) //nolint:forbidigo // the clock of the bubble: a person's time is not the call's
		again, sameKey := inputOf(t, f.turn(t.Context(), `{}`, state, `{}`, nil))
		if again == state || sameKey != key {
			t.Errorf("without an answer: state and key %s, before %s", sameKey, key)
		}
		a := f.turn(t.Context(), `{ }`, again, fmt.Sprintf(given, key), note("last"))
		if !strings.Contains(string(a.Result), `"action":"accept"`) || <-ended != nil {
			t.Errorf("%s %+v", a.Result, a.Refusal)
		}
		if got := strings.Join(progress, " "); got != "first last" {
			t.Errorf("progress %q", got)
		}
		if got := outcomes(f.audit.String()); got != strings.Join([]string{"started", "input_required", "input_required", "success", "success"}, " ") {
			t.Errorf("recorded %q", got)
		}
		if last := f.audit.String(); strings.Count(last, `"started_as":1`) != 1 {
			t.Errorf("more than the last record is the end of the call: %s", last)
		}
	})
}

func TestParkedCallsThatEnd(t *testing.T) {
	cases := map[string]struct {
		do         func(t *testing.T, f *fixture, state, answer string) requests.Answer
		wantReason string
		wantCause  string // of the call's end at the server
	}{
		"nobody continues it": {func(t *testing.T, f *fixture, state, answer string) requests.Answer {
			time.Sleep(roundTTL + time.Second) //nolint:forbidigo // the clock of the bubble
			synctest.Wait()
			if got := outcomes(f.audit.String()); !strings.Contains(got, "cancelled") {
				t.Errorf("recorded %q", got)
			}
			return f.turn(t.Context(), `{}`, state, answer, nil)
		}, "InvalidInput", "did not continue it in time"},
		"other arguments": {func(t *testing.T, f *fixture, state, answer string) requests.Answer {
			return f.turn(t.Context(), `{"x":1}`, state, answer, nil)
		}, "InvalidInput", "was refused"},
		"policy denies it in the meantime": {func(t *testing.T, f *fixture, state, answer string) requests.Answer {
			f.apply(t, nil)
			return f.turn(t.Context(), `{}`, state, answer, nil)
		}, "Untrusted", "was refused"},
		"policy wants a confirmation in the meantime": {func(t *testing.T, f *fixture, state, answer string) requests.Answer {
			f.apply(t, confirmed)
			return f.turn(t.Context(), `{}`, state, answer, nil)
		}, reasonVoid, "was refused"},
		"the dispatcher ends": {func(t *testing.T, f *fixture, state, answer string) requests.Answer {
			f.Close()
			return f.turn(t.Context(), `{}`, state, answer, nil)
		}, "InvalidInput", "did not continue it in time"},
		"the answers are no objects": {func(t *testing.T, f *fixture, state, _ string) requests.Answer {
			a := f.turn(t.Context(), `{}`, state, `{"a":7}`, nil)
			f.Close()
			return a
		}, "InvalidInput", "did not continue it in time"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, ended := parkedFixture(t, trusted)
				state, key := inputOf(t, f.turn(t.Context(), `{}`, "", "", nil))
				a := tc.do(t, f, state, fmt.Sprintf(given, key))
				if reason(a) != tc.wantReason {
					t.Errorf("%q %+v, want %q", reason(a), a, tc.wantReason)
				}
				if cause := <-ended; cause == nil || !strings.Contains(cause.Error(), tc.wantCause) {
					t.Errorf("ended by %v, want %q", cause, tc.wantCause)
				}
				synctest.Wait()
				for _, c := range f.server.Conns() {
					select {
					case <-c.Done():
					default:
						t.Error("a connection was not given back")
					}
				}
			})
		})
	}
}

// A client that goes away while it waits has cancelled the call; between two rounds it has not.
func TestAClientThatGoesWhileItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, ended := parkedFixture(t, trusted)
		ctx, cancel := context.WithCancelCause(t.Context())
		state, _ := inputOf(t, f.turn(ctx, `{}`, "", "", nil))
		cancel(requests.ErrGivenUp)
		synctest.Wait()
		if len(ended) > 0 {
			t.Fatal("the end of a round has cancelled the call")
		}
		ctx, cancel = context.WithCancelCause(t.Context())
		cancel(requests.ErrGivenUp)
		if a := f.turn(ctx, `{}`, state, `{}`, nil); !a.Cancelled {
			t.Errorf("%+v", a)
		}
		if cause := <-ended; cause == nil || !strings.Contains(cause.Error(), "cancelled") {
			t.Errorf("ended by %v", cause)
		}
	})
}

// What waits is bounded, by the caller's calls and for all.
func TestParkedCallsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, _ := parkedFixture(t, func(d *registry.Document) { trusted(d); d.Policy.Limits.MaxConcurrent = maxParked + 8 })
		for range maxParked {
			inputOf(t, f.turn(t.Context(), `{}`, "", "", nil))
		}
		if a := f.turn(t.Context(), `{}`, "", "", nil); reason(a) != "InputPending" {
			t.Errorf("one more: %+v", a)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		f, _ := parkedFixture(t, func(d *registry.Document) { trusted(d); d.Policy.Limits.MaxConcurrent = 1 })
		state, key := inputOf(t, f.turn(t.Context(), `{}`, "", "", nil))
		if a := f.turn(t.Context(), `{}`, "", "", nil); reason(a) != "MaxConcurrent" {
			t.Errorf("a second call: %+v", a)
		}
		if a := f.turn(t.Context(), `{}`, state, fmt.Sprintf(given, key), nil); a.Result == nil {
			t.Errorf("the call that waited: %+v", a)
		}
	})
}

// A server that does not answer in its own time is cut off, however often it asked.
func TestParkedCallsTimeOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, ended := parkedFixture(t, trusted)
		asks := f.server.Answer
		f.server.Answer = func(ctx context.Context, c *dispatchertest.Conn, call upstream.Call) (upstream.Reply, error) {
			if reply, err := asks(ctx, c, call); err != nil {
				return reply, err
			}
			<-ctx.Done()
			return upstream.Reply{}, context.Cause(ctx)
		}
		state, key := inputOf(t, f.turn(t.Context(), `{}`, "", "", nil))
		if a := f.turn(t.Context(), `{}`, state, fmt.Sprintf(given, key), nil); reason(a) != "Timeout" || <-ended != nil {
			t.Errorf("%+v", a)
		}
	})
}
