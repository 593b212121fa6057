// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/link"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/outbox"
)

// room is how many messages wait for a server before its senders do.
const room = 64

// wire is a connection whose server reads when the test takes a frame.
type wire struct {
	*outbox.Outbox
	conn     *link.Conn
	counters *upstream.Counters
}

func (w *wire) Leaves(upstream.Era) bool { return false }
func (w *wire) Agree(upstream.Info)      {}
func (w *wire) Vet([]byte) error         { return nil }
func (w *wire) Stderr() []string         { return nil }
func (w *wire) Shut()                    {}

func newWire() *wire {
	w := &wire{counters: &upstream.Counters{}}
	dialer := &link.Dialer{Options: upstream.Options{Counters: w.counters}.WithDefaults(), Log: slog.New(slog.DiscardHandler)}
	w.conn = dialer.New(upstream.Hello{}, nil, w)
	w.Outbox = outbox.New(w.conn, w.counters)
	return w
}

// fill takes all the room there is.
func (w *wire) fill(t *testing.T) {
	t.Helper()
	for i := range room {
		if err := w.Tell(t.Context(), fmt.Appendf(nil, "%d", i)); err != nil {
			t.Fatal(err)
		}
	}
}

// read gives what the server reads of all that waits.
func (w *wire) read() []string {
	var out []string
	for {
		select {
		case f := <-w.Frames():
			if f.Marks() {
				f.Reached()
			}
			if data := f.Wanted(); data != nil {
				out = append(out, string(data))
			}
		default:
			return out
		}
	}
}

// call makes a call, and gives what comes of it once it is over.
func (w *wire) call(ctx context.Context) <-chan error {
	over := make(chan error, 1)
	go func() {
		_, err := w.conn.Call(ctx, upstream.Call{Method: "tools/call", Params: []byte(`{"name":"t"}`)})
		over <- err
	}()
	synctest.Wait()
	return over
}

func TestMessagesKeepTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire()
		var want []string
		for i := range room / 2 {
			told := fmt.Sprintf(`{"n":%d}`, i)
			if err := w.Tell(t.Context(), []byte(told)); err != nil {
				t.Fatal(err)
			}
			w.call(t.Context())
			want = append(want, told, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t"}}`, i+1))
		}
		if diff := cmp.Diff(want, w.read()); diff != "" {
			t.Errorf("what the server reads (-want +got):\n%s", diff)
		}
		_ = w.conn.Close() // it ends the calls
	})
}

// A server that reads late must not carry out what was reported as given up, and hears of all else.
func TestOnlyCallsThatSomebodyWaitsForAreWanted(t *testing.T) {
	for name, tc := range map[string]struct {
		giveUp   bool // before the server reads
		wantCall bool
	}{
		"the caller waits":        {wantCall: true},
		"the caller has given up": {giveUp: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWire()
				ctx, cancel := context.WithCancelCause(t.Context())
				over := w.call(ctx)
				if err := w.Tell(t.Context(), []byte("told")); err != nil {
					t.Fatal(err)
				}
				if tc.giveUp {
					cause := errors.New("the client went away")
					cancel(cause)
					if err := <-over; !errors.Is(err, cause) {
						t.Fatalf("the call says %v", err)
					}
				}
				got := strings.Join(w.read(), "\n")
				if strings.Contains(got, "tools/call") != tc.wantCall || !strings.Contains(got, "told") {
					t.Errorf("the server reads:\n%s", got)
				}
				cancel(nil)
				_ = w.conn.Close() // it ends the call
			})
		})
	}
}

// A connection of one call is closed as soon as that is given up, which the server hears all the same.
func TestACancellationIsOutBeforeItsConnectionIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire()
		ctx, cancel := context.WithCancel(t.Context())
		over := w.call(ctx)
		w.read()
		cancel()
		if err := <-over; !errors.Is(err, context.Canceled) {
			t.Errorf("the call says %v", err)
		}
		closed := make(chan struct{})
		go func() {
			defer close(closed)
			_ = w.conn.Close()
		}()
		synctest.Wait()
		select {
		case <-closed:
			t.Error("closed with the cancellation in the queue")
		default:
		}
		want := []string{`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`}
		if diff := cmp.Diff(want, w.read()); diff != "" {
			t.Errorf("what the server reads (-want +got):\n%s", diff)
		}
		<-closed
	})
}

// A sender without room waits, is counted, and goes when there is room, when it has no more time, or when nobody will read.
func TestSendersWaitForRoom(t *testing.T) {
	patience := errors.New("the time is over")
	broken := upstream.Fail("", nil, "the child has exited")
	for name, tc := range map[string]struct {
		then     func(w *wire, cancel context.CancelCauseFunc)
		want     error
		wantLast string // of what the server reads then
	}{
		"the server reads one": {
			then: func(w *wire, _ context.CancelCauseFunc) { <-w.Frames() }, wantLast: "late",
		},
		"the sender's time is over": {
			then: func(_ *wire, cancel context.CancelCauseFunc) { cancel(patience) }, want: patience, wantLast: "63",
		},
		"the connection ends": {
			then: func(w *wire, _ context.CancelCauseFunc) { w.conn.Fail(broken) }, want: broken, wantLast: "63",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWire()
				w.fill(t)
				if n := w.counters.Waiting.Load(); n != 0 {
					t.Fatalf("%d wait though there was room for all", n)
				}
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				over := make(chan error, 1)
				go func() { over <- w.Tell(ctx, []byte("late")) }()
				synctest.Wait()
				if n := w.counters.Waiting.Load(); n != 1 {
					t.Errorf("%d wait, want one", n)
				}
				select {
				case err := <-over:
					t.Fatalf("did not wait: %v", err)
				default:
				}
				tc.then(w, cancel)
				if err := <-over; !errors.Is(err, tc.want) {
					t.Errorf("got %v, want %v", err, tc.want)
				}
				if n := w.counters.Waiting.Load(); n != 0 {
					t.Errorf("%d are said to wait for ever", n)
				}
				if got := w.read(); got[len(got)-1] != tc.wantLast {
					t.Errorf("the last that the server reads is %q, want %q", got[len(got)-1], tc.wantLast)
				}
			})
		})
	}
}

// What never came into the queue needs no cancellation: the server would hear of a request that it knows nothing of.
func TestACallThatFoundNoRoomIsNotCancelled(t *testing.T) {
	for name, tc := range map[string]struct {
		full bool
		want int // cancellations
	}{
		"it found room":    {want: 1},
		"it found no room": {full: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWire()
				if tc.full {
					w.fill(t)
				}
				ctx, cancel := context.WithCancel(t.Context())
				over := w.call(ctx)
				cancel()
				if err := <-over; !errors.Is(err, context.Canceled) {
					t.Fatalf("the call says %v", err)
				}
				synctest.Wait()
				got := w.read() // makes room for what still waits for it
				synctest.Wait()
				if got := strings.Join(append(got, w.read()...), "\n"); strings.Count(got, "notifications/cancelled") != tc.want {
					t.Errorf("want %d cancellations, the server reads:\n%s", tc.want, got)
				}
			})
		})
	}
}
