// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestWatch(t *testing.T) {
	type step struct {
		after   time.Duration
		policy  string        // another policy, if not empty
		renewed time.Duration // trust is renewed for so long, if not zero
		want    int           // how often tools/list has changed since the start
	}
	for name, tc := range map[string]struct {
		hidden bool
		steps  []step
	}{
		"trust that ends is told once": {true, []step{
			{renewed: time.Minute, policy: "a"}, {after: 59 * time.Second}, {after: 2 * time.Second, want: 1}, {after: time.Hour, want: 1}}},
		"renewed in time, it does not end": {true, []step{
			{renewed: time.Minute, policy: "a"}, {after: 50 * time.Second, renewed: time.Minute}, {after: 50 * time.Second}, {after: 20 * time.Second, want: 1}}},
		"renewed too late, it comes back": {true, []step{
			{renewed: time.Minute, policy: "a"}, {after: 2 * time.Minute, want: 1}, {renewed: time.Minute, want: 2}}},
		"another policy tells by itself": {true, []step{
			{renewed: time.Minute, policy: "a"}, {after: time.Hour, want: 1}, {renewed: time.Minute, policy: "b", want: 1}}},
		"where the list does not show it, nobody is told": {false, []step{
			{renewed: time.Minute, policy: "a"}, {after: time.Hour}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var ends time.Time
				policy, told := "", 0
				w := New(func() State {
					return State{Policy: policy, Trusted: time.Now().Before(ends), Shows: tc.hidden, Ends: ends}
				}, func() { told++ }, time.Now)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				go w.Run(ctx)
				for i, s := range tc.steps {
					<-time.After(s.after)
					synctest.Wait()
					if s.policy != "" {
						policy = s.policy
					}
					if s.renewed != 0 {
						ends = time.Now().Add(s.renewed)
						w.Moved()
					}
					synctest.Wait()
					if told != s.want {
						t.Errorf("step %d: told %d times, want %d", i, told, s.want)
					}
				}
			})
		})
	}
}
