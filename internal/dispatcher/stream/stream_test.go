// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// carried runs a connection until the stream has nothing more to say for now, and gives what the client read.
func carried(t *testing.T, c *Carrier) string {
	t.Helper()
	w := httptest.NewRecorder()
	synctest.Wait()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); c.Run(ctx, w) }()
	synctest.Wait()
	cancel()
	<-done
	return w.Body.String()
}

func pushed(s *Stream, messages ...string) {
	for _, m := range messages {
		s.Push([]byte(m))
	}
}

func message(id, data string) string { return "event: message\nid: " + id + "\ndata: " + data + "\n\n" }

// A client that has gone ends a stream that is not kept; whoever still writes is told.
func TestAClientThatHasGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := New()
		done := make(chan struct{})
		c := s.Attach()
		go func() { defer close(done); c.Run(ctx, httptest.NewRecorder()) }()
		time.Sleep(time.Minute) //nolint:forbidigo // the clock of the bubble
		if !s.Push([]byte(`{}`)) {
			t.Error("refused while the client is there")
		}
		cancel()
		<-done
		if s.Push([]byte(`{}`)) {
			t.Error("taken after the client has gone")
		}
	})
}

func TestResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := NewStore(new(Total), func() { t.Error("a message was lost") })
		own, call := store.Open(false), store.Open(false)
		pushed(call, "a", "b")
		pushed(own, "x")
		if got, want := carried(t, call.Attach()), message("1-1", "a")+message("1-2", "b"); got != want {
			t.Errorf("at first %q, want %q", got, want)
		}
		pushed(call, "c")
		call.Finish([]byte("end"))
		if call.Push([]byte("late")) {
			t.Error("something was taken after the end")
		}
		for lastID, want := range map[string]string{
			"1-0":   message("1-1", "a") + message("1-2", "b") + message("1-3", "c") + message("1-4", "end"),
			"1-1":   message("1-2", "b") + message("1-3", "c") + message("1-4", "end"),
			"1-1-7": message("1-2", "b") + message("1-3", "c") + message("1-4", "end"),
			"0-0":   message("0-1", "x"),
		} {
			c, err := store.Resume(lastID)
			if err != nil {
				t.Fatalf("%s: %v", lastID, err)
			}
			if diff := cmp.Diff(want, carried(t, c)); diff != "" {
				t.Errorf("after %s (-want +got):\n%s", lastID, diff)
			}
		}
		for _, lastID := range []string{"", "1", "1-", "1-5", "2-0", "-1-0", "x", "1-x", "1--1", "0-2"} {
			if _, err := store.Resume(lastID); !errors.Is(err, ErrUnknown) {
				t.Errorf("%q: %v", lastID, err)
			}
		}
		store.Close()
		if _, err := store.Resume("1-1"); !errors.Is(err, ErrUnknown) {
			t.Errorf("after the end: %v", err)
		}
	})
}

// A primed stream begins with an event that has an id of its own, no data, and the time after which to come back; it is
// closed before whatever stands on the way might cut it, and goes on elsewhere.
func TestPriming(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewStore(new(Total), nil).Open(true)
		prime := func(id string) string { return "id: " + id + "\nretry: 1000\ndata:\n\n" }
		if got, want := carried(t, s.Attach()), prime("0-0-1"); got != want {
			t.Errorf("at first %q, want %q", got, want)
		}
		pushed(s, "a")
		if got, want := carried(t, s.Attach()), prime("0-0-2")+message("0-1", "a"); got != want {
			t.Errorf("then %q, want %q", got, want)
		}
		c := must(s.store.Resume("0-0-2"))(t)
		if got, want := carried(t, c), message("0-1", "a"); got != want {
			t.Errorf("resumed %q, want %q", got, want)
		}
		w := httptest.NewRecorder()
		must(s.store.Resume("0-1"))(t).Run(t.Context(), w)
		if got := w.Body.String(); !strings.HasSuffix(got, "retry: 1000\n\n") || strings.Count(got, ": keep-alive\n\n") < 50 {
			t.Errorf("at the end of a connection: %q", got)
		}
		if !s.Push([]byte("b")) {
			t.Error("the stream has ended with its connection")
		}
	})
}

func must(c *Carrier, err error) func(*testing.T) *Carrier {
	return func(t *testing.T) *Carrier {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
}

// A newer connection takes an older one's place, and no message is on both.
func TestANewerConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewStore(new(Total), nil).Open(false)
		older, newer := httptest.NewRecorder(), httptest.NewRecorder()
		first := s.Attach()
		ended := make(chan struct{})
		go func() { defer close(ended); first.Run(t.Context(), older) }()
		pushed(s, "a")
		synctest.Wait()
		second := s.Attach()
		<-ended
		go second.Run(t.Context(), newer)
		pushed(s, "b")
		s.Finish(nil)
		synctest.Wait()
		if older.Body.String() != message("0-1", "a") || newer.Body.String() != message("0-2", "b") {
			t.Errorf("older %q, newer %q", older.Body, newer.Body)
		}
	})
}

// A write that fails leaves its message to the next connection.
func TestABrokenConnection(t *testing.T) {
	s := NewStore(new(Total), nil).Open(false)
	pushed(s, "a")
	s.Attach().Run(t.Context(), broken{httptest.NewRecorder()})
	if s.Carried() {
		t.Error("carried by a broken connection")
	}
	if _, err := s.store.Resume("0-2"); !errors.Is(err, ErrUnknown) {
		t.Errorf("an event that was never written: %v", err)
	}
	s.Finish([]byte("b"))
	w := httptest.NewRecorder()
	s.Attach().Run(t.Context(), w)
	if got, want := w.Body.String(), message("0-1", "a")+message("0-2", "b"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// An event may arrive before its connection has noted that it was written: the client goes on from there all the same.
func TestAnEventOvertakesItsNote(t *testing.T) {
	s := NewStore(new(Total), nil).Open(false)
	pushed(s, "a", "b")
	s.Attach().take()
	s.Finish(nil)
	w := httptest.NewRecorder()
	must(s.store.Resume("0-1"))(t).Run(t.Context(), w)
	if got, want := w.Body.String(), message("0-2", "b"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

type broken struct{ *httptest.ResponseRecorder }

func (broken) Write([]byte) (int, error) { return 0, http.ErrHandlerTimeout }

// While the client is away a stream takes little, but always its answer.
func TestAwayIsBounded(t *testing.T) {
	s := NewStore(new(Total), nil).Open(false)
	taken := 0
	for i := range 3 * maxAway {
		if s.Push([]byte(fmt.Sprint(i))) {
			taken++
		}
	}
	if taken != maxAway || s.Push(bytes.Repeat([]byte("x"), maxAwayBytes+1)) {
		t.Errorf("%d were taken, want %d, or a large one was", taken, maxAway)
	}
	s.Finish(bytes.Repeat([]byte("x"), maxAwayBytes+1))
	w := httptest.NewRecorder()
	s.Attach().Run(t.Context(), w)
	if n := strings.Count(w.Body.String(), "event: "); n != maxAway+1 {
		t.Errorf("%d events, want %d", n, maxAway+1)
	}
	s = NewStore(new(Total), nil).Open(false)
	first, second := s.PushOnce([]byte("a")), s.PushOnce([]byte("a"))
	if !first || !second || len(s.events) != 1 {
		t.Error("what was said already was queued again")
	}
}

// What is kept for a client that may come back is bounded: the oldest that was written goes first, then what was never read.
func TestKeptIsBounded(t *testing.T) {
	lost := 0
	total := new(Total)
	store := NewStore(total, func() { lost++ })
	finish := func(size int) (name string) {
		s := store.Open(false)
		s.Finish(bytes.Repeat([]byte("x"), size))
		return s.name + "-0"
	}
	read := func(lastID string) error {
		c, err := store.Resume(lastID)
		if err == nil {
			c.Run(t.Context(), httptest.NewRecorder())
		}
		return err
	}
	var names []string
	for range maxKept + 10 {
		names = append(names, finish(1))
	}
	if err := read(names[0]); lost != 10 || !errors.Is(err, ErrUnknown) || len(store.streams) != maxKept {
		t.Errorf("%d answers were given up: %v; %d streams", lost, err, len(store.streams))
	}
	for _, name := range names[10:] {
		if err := read(name); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	big := finish(2 * maxKeptBytes)
	if err := read(big); err != nil || lost != 10 || len(store.streams) != 1 {
		t.Errorf("an answer larger than all that is kept: %v; %d streams", err, len(store.streams))
	}
	if err := read(big); err != nil {
		t.Errorf("read once more: %v", err)
	}
	total.bytes.Add(maxTotalBytes)
	if err := read(finish(1)); !errors.Is(err, ErrUnknown) || store.bytes != 0 || len(store.written) != 0 || len(store.streams) != 0 {
		t.Errorf("over what all sessions may keep: %v, %d bytes in %d streams", err, store.bytes, len(store.streams))
	}
	if got := total.bytes.Load(); got != maxTotalBytes {
		t.Errorf("%d bytes are counted, none is kept", got-maxTotalBytes)
	}
}

// A client that reads the same events again and again costs no more than one that reads them once.
func TestReadingAgain(t *testing.T) {
	store := NewStore(new(Total), nil)
	s := store.Open(false)
	pushed(s, "a", "b")
	s.Finish(nil)
	for range 5 {
		must(store.Resume("0-0"))(t).Run(t.Context(), httptest.NewRecorder())
		if len(store.written) != 2 || s.waiting != 0 || store.count != 2 {
			t.Fatalf("%d written, %d bytes waiting, %d kept", len(store.written), s.waiting, store.count)
		}
	}
}
