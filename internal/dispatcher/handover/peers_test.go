// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package handover

import (
	"context"
	"net/netip"
	"sync"
	"testing"
	"time"
)

// A lookup belongs to all that wait for it: the client that began it may hang up, and those who need none do not wait.
func TestALookupIsNobodysOwn(t *testing.T) {
	first, second := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
	var mu sync.Mutex
	now, asked := time.Now(), 0
	slow, begun, answer := false, make(chan context.Context, 16), make(chan struct{})
	p := peers{
		now: func() time.Time { mu.Lock(); defer mu.Unlock(); return now },
		lookup: func(ctx context.Context) ([]netip.Addr, error) {
			mu.Lock()
			asked++
			wait := slow
			mu.Unlock()
			if !wait {
				return []netip.Addr{first}, nil
			}
			begun <- ctx
			<-answer
			return []netip.Addr{first, second}, ctx.Err()
		},
	}
	if !p.has(t.Context(), first) {
		t.Fatal("a replica is not known")
	}
	mu.Lock()
	now, slow = now.Add(again), true
	mu.Unlock()

	client, hangUp := context.WithCancel(t.Context())
	heard := make(chan bool)
	go func() { heard <- p.has(client, second) }()
	lookup := <-begun
	if _, bounded := lookup.Deadline(); !bounded {
		t.Error("the lookup has no bound")
	}
	if !p.has(t.Context(), first) { // while the lookup goes on, or the test would not end
		t.Error("a replica that is known has to wait for the lookup of another")
	}
	hangUp()
	if <-heard {
		t.Error("an address that nobody knows yet is taken for a replica")
	}
	if lookup.Err() != nil {
		t.Error("the lookup ended with the client that began it")
	}
	const others = 8
	found := make(chan bool, others)
	for range others {
		go func() { found <- p.has(t.Context(), second) }()
	}
	close(answer)
	for range others {
		if !<-found {
			t.Error("a new replica is not found by those who waited, too")
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if asked != 2 {
		t.Errorf("%d lookups, want one at first and one for all that asked", asked)
	}
}
