// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/upstreamtest"
	"toolgate.dev/toolgate/internal/registry"
)

// slowDialer dials a server that takes longer to start than anybody waits.
type slowDialer struct {
	clock *upstreamtest.Clock
	asked chan time.Duration
}

func (d *slowDialer) Dial(_ context.Context, hello upstream.Hello, _ upstream.Handler) (upstream.Conn, error) {
	d.clock.Advance(hello.Patience) // the time is over
	d.asked <- hello.Patience
	return nil, &upstream.Error{Reason: registry.FailTimeout, Message: "silence"}
}

func (d *slowDialer) Close() error { return nil }

// Many servers that start at once on a small machine take long, and longer still when each is ended and started again as
// soon as its time is over.
func TestASlowServerGetsMoreTimeAndLongerPauses(t *testing.T) {
	clock := upstreamtest.NewClock()
	d := &slowDialer{clock: clock, asked: make(chan time.Duration, 1)}
	p := New(d, Options{Now: clock.Now, After: clock.After}, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.Run(ctx)
	}()
	var patience, pauses []time.Duration
	for range 6 {
		patience = append(patience, <-d.asked)
		pauses = append(pauses, clock.Step())
	}
	cancel()
	for {
		select {
		case <-d.asked:
			continue
		case <-ended:
		}
		break
	}
	const m, s = time.Minute, time.Second
	if diff := cmp.Diff([]time.Duration{30 * s, m, 2 * m, 4 * m, 5 * m, 5 * m}, patience); diff != "" {
		t.Errorf("patience (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]time.Duration{s / 2, s, 2 * s, 4 * s, 8 * s, 16 * s}, pauses); diff != "" {
		t.Errorf("pauses (-want +got):\n%s", diff)
	}
}
