// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package stdio

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"go.uber.org/goleak"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/upstreamtest"
	"toolgate.dev/toolgate/internal/registry"
)

// G-102, G-103: servers that know discover, do not, are silent about it, or die of it. What was found out holds for the next
// connection.
func TestEras(t *testing.T) {
	for name, tc := range map[string]struct {
		mood           upstreamtest.Mood
		prefers        []upstream.Era
		want           []upstream.Era // of each connection; none where it fails
		children       int
		wantLastReason registry.FailureReason
	}{
		"a legacy server, asked to discover once": {mood: upstreamtest.Good, prefers: []upstream.Era{upstream.Modern, upstream.Modern},
			want: []upstream.Era{upstream.Legacy, upstream.Legacy}, children: 2},
		"a server of both eras, spoken to as wanted": {mood: upstreamtest.BothEras, prefers: []upstream.Era{upstream.Modern, upstream.Legacy, upstream.Modern},
			want: []upstream.Era{upstream.Modern, upstream.Legacy, upstream.Modern}, children: 3},
		"a server of both eras whose discover names one": {mood: upstreamtest.NamesOne, prefers: []upstream.Era{upstream.Modern, upstream.Legacy, upstream.Modern},
			want: []upstream.Era{upstream.Modern, upstream.Legacy, upstream.Modern}, children: 3},
		"a modern server that dies of initialize, which it reads once": {mood: upstreamtest.NoInit, prefers: []upstream.Era{upstream.Modern, upstream.Legacy, upstream.Legacy},
			want: []upstream.Era{upstream.Modern, "", upstream.Modern}, children: 3},
		"a modern server": {mood: upstreamtest.Modern, prefers: []upstream.Era{upstream.Legacy, upstream.Modern, upstream.Legacy},
			want: []upstream.Era{upstream.Modern, upstream.Modern, upstream.Modern}, children: 3},
		"a server that dies of discover, which it is asked once": {mood: upstreamtest.Fragile, prefers: []upstream.Era{upstream.Modern, upstream.Modern},
			want: []upstream.Era{upstream.Legacy, upstream.Legacy}, children: 3},
		"a server that dies anyway": {mood: upstreamtest.ExitOnInit, prefers: []upstream.Era{upstream.Legacy, upstream.Modern, upstream.Modern},
			children: 3, wantLastReason: registry.FailExited},
	} {
		t.Run(name, func(t *testing.T) {
			leaks := goleak.IgnoreCurrent()
			spawner := &upstreamtest.Spawner{Mood: tc.mood}
			dialer := New(spawner, upstream.Options{DiscoverTimeout: time.Minute}, slog.New(slog.DiscardHandler))
			var last error
			for i, prefers := range tc.prefers {
				conn, err := dialer.Dial(t.Context(), upstream.Hello{Prefers: prefers}, nil)
				if last = err; err != nil {
					continue
				}
				if i >= len(tc.want) || conn.Info().Era != tc.want[i] {
					t.Errorf("connection %d is %s, want %v", i, conn.Info().Era, tc.want)
				}
				if reply, err := conn.Call(t.Context(), upstream.Call{Method: "tools/list", Params: []byte("{}")}); err != nil || reply.Error != nil {
					t.Errorf("connection %d: %+v, %v", i, reply.Error, err)
				}
				if err := conn.Close(); err != nil {
					t.Error(err)
				}
			}
			var e *upstream.Error
			if len(tc.want) > 0 && last != nil || len(tc.want) == 0 && (!errors.As(last, &e) || e.Reason != tc.wantLastReason) {
				t.Errorf("the last connection: %v", last)
			}
			if spawner.Started() != tc.children {
				t.Errorf("%d children, want %d", spawner.Started(), tc.children)
			}
			spawner.Wait()
			goleak.VerifyNone(t, leaks)
		})
	}
}
