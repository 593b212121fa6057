// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package parking

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"toolgate.dev/toolgate/internal/dispatcher/input"
	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/jsonrpc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newCall gives a call whose server asks what ask does, and answers with what it was told.
func newCall(t *testing.T, run func(ctx context.Context, ask func(method string) upstream.Reply) (upstream.Reply, error)) (*Call, *atomic.Int64) {
	t.Helper()
	var held atomic.Int64
	c := New(Rules{
		Admit: func(e upstream.Event) ([]byte, *jsonrpc.Error) {
			if e.Method == "denied" {
				return nil, &jsonrpc.Error{Code: -1, Message: "no"}
			}
			return []byte(`{}`), nil
		},
		Hold:  func() func() { held.Add(1); return func() { held.Add(-1) } },
		Asked: func(upstream.Event, upstream.Reply, time.Time) {}, Dropped: func(string) {}, Now: time.Now,
	})
	c.Run(t.Context(), func(ctx context.Context) (upstream.Reply, error) {
		return run(ctx, func(method string) upstream.Reply { return c.HandleRequest(ctx, upstream.Event{Method: method}) })
	})
	return c, &held
}

func TestRoundsOfAParkedCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, held := newCall(t, func(_ context.Context, ask func(string) upstream.Reply) (upstream.Reply, error) {
			if reply := ask("denied"); reply.Error == nil {
				t.Error("what is denied was asked")
			}
			others := make(chan upstream.Reply)
			go func() { others <- ask("b") }()
			a := ask("a")
			b := <-others
			return upstream.Reply{Result: append(a.Result, b.Result...)}, nil
		})
		questions, _, _ := c.Wait(t.Context(), nil)
		if len(questions) != 2 || held.Load() != 2 {
			t.Fatalf("asked %v, %d held, want both questions together", questions, held.Load())
		}
		byMethod := map[string]string{questions[0].Method: questions[0].Key, questions[1].Method: questions[1].Key}
		c.Answer(input.Answers{byMethod["a"]: []byte(`1`), "a stranger": []byte(`2`)})
		questions, _, _ = c.Wait(t.Context(), nil)
		if len(questions) != 1 || questions[0].Method != "b" {
			t.Fatalf("asked %v, want the question that had no answer", questions)
		}
		c.Answer(input.Answers{byMethod["b"]: []byte(`2`)})
		questions, reply, err := c.Wait(t.Context(), nil)
		if questions != nil || string(reply.Result) != "12" || err != nil || held.Load() != 0 {
			t.Errorf("%v %s %v, %d held", questions, reply.Result, err, held.Load())
		}
	})
}

// A server that asks and answers without waiting for the answer does not bother the client.
func TestACallThatEndsMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := newCall(t, func(_ context.Context, ask func(string) upstream.Reply) (upstream.Reply, error) {
			go ask("a")
			synctest.Wait()
			return upstream.Reply{Result: []byte(`{}`)}, nil
		})
		if questions, reply, err := c.Wait(t.Context(), nil); questions != nil || string(reply.Result) != "{}" || err != nil {
			t.Errorf("%v %s %v", questions, reply.Result, err)
		}
	})
}

// A client that goes away while it waits has cancelled the call.
func TestAClientThatGoesAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := newCall(t, func(ctx context.Context, _ func(string) upstream.Reply) (upstream.Reply, error) {
			<-ctx.Done()
			return upstream.Reply{}, context.Cause(ctx)
		})
		gone := errors.New("gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(gone)
		if _, _, err := c.Wait(ctx, nil); !errors.Is(err, gone) {
			t.Errorf("ended by %v", err)
		}
	})
}

func TestLot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var abandoned []string
		l := NewLot(2, func(s string) { abandoned = append(abandoned, s) })
		a, b := l.Park("a", time.Minute), l.Park("b", time.Hour)
		if a == 0 || b == 0 || l.Park("c", time.Hour) != 0 {
			t.Error("two places, and not one more")
		}
		time.Sleep(2 * time.Minute) //nolint:forbidigo // the clock of the bubble
		synctest.Wait()
		if _, ok := l.Take(a); ok || len(abandoned) != 1 {
			t.Errorf("after its time: taken %t, abandoned %v", ok, abandoned)
		}
		if got, ok := l.Take(b); !ok || got != "b" {
			t.Errorf("took %q %t", got, ok)
		}
		if _, ok := l.Take(b); ok {
			t.Error("taken twice")
		}
		l.Park("d", time.Hour)
		l.Close()
		l.Close()
		if len(abandoned) != 2 || l.Count() != 0 || l.Park("e", time.Hour) != 0 {
			t.Errorf("after the end: abandoned %v, %d parked", abandoned, l.Count())
		}
	})
}
