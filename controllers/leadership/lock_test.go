// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package leadership

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// lease is a Lease in memory.
type lease struct {
	resourcelock.Interface
	record  resourcelock.LeaderElectionRecord
	err     error
	pending func()
}

func (l *lease) Identity() string { return "me" }

func (l *lease) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record := l.record
	return &record, []byte(record.HolderIdentity), l.err
}

func (l *lease) Update(_ context.Context, r resourcelock.LeaderElectionRecord) error {
	if l.pending != nil {
		l.pending()
	}
	if l.err == nil {
		l.record = r
	}
	return l.err
}

func (l *lease) Create(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return l.Update(ctx, r)
}

// locked is a lock on a lease in memory.
func locked() (*Lock, *lease, *hands) {
	f, h := fenced()
	inner := &lease{}
	return &Lock{Interface: inner, fence: f, lost: make(chan string, 1)}, inner, h
}

func held(by string) resourcelock.LeaderElectionRecord {
	return resourcelock.LeaderElectionRecord{HolderIdentity: by}
}

func TestRenewalsOpenTheFence(t *testing.T) {
	l, inner, h := locked()
	inner.err = errors.New("no answer")
	if err := l.Create(t.Context(), held("me")); err == nil || l.fence.Check() == nil {
		t.Errorf("error %v, and open: %v: a renewal that failed is none", err, l.fence.Check() == nil)
	}
	inner.err = nil
	if err := l.Create(t.Context(), held("me")); err != nil || l.fence.Check() != nil {
		t.Errorf("error %v, fence %v", err, l.fence.Check())
	}
	// The process is paused while the renewal is under way.
	inner.pending = func() { h.advance(time.Minute) }
	if err := l.Update(t.Context(), held("me")); err != nil || l.fence.Check() == nil {
		t.Errorf("error %v, and open: %v: the renewal is a minute old", err, l.fence.Check() == nil)
	}
}

func TestOnlyAHeldLeaseIsReleased(t *testing.T) {
	l, inner, h := locked()
	if err := l.Update(t.Context(), held("me")); err != nil {
		t.Fatal(err)
	}
	h.advance(time.Minute)
	inner.record = held("another")
	if err := l.Update(t.Context(), held("")); !errors.Is(err, ErrFenced) || inner.record.HolderIdentity != "another" {
		t.Errorf("error %v, and now the holder is %q", err, inner.record.HolderIdentity)
	}
	inner.record = held("")
	if err := l.Update(t.Context(), held("me")); err != nil {
		t.Fatal(err)
	}
	inner.pending = func() {
		if l.fence.Check() == nil {
			t.Error("the fence is open while the lease is being released")
		}
	}
	if err := l.Update(t.Context(), held("")); err != nil || inner.record.HolderIdentity != "" {
		t.Errorf("error %v, holder %q", err, inner.record.HolderIdentity)
	}
}

func TestALostLeaseEndsTheManager(t *testing.T) {
	l, inner, _ := locked()
	inner.record = held("another")
	if _, _, err := l.Get(t.Context()); err != nil || len(l.lost) > 0 {
		t.Errorf("error %v, and %d losses of a lease that was never held", err, len(l.lost))
	}
	if err := l.Update(t.Context(), held("me")); err != nil {
		t.Fatal(err)
	}
	inner.record = held("another")
	for range 2 {
		if _, _, err := l.Get(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "another leads") {
		t.Errorf("error %v", err)
	}
	if l.fence.Check() == nil {
		t.Error("the fence is open")
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.Start(stopped); err != nil {
		t.Errorf("error %v of a manager that was told to stop", err)
	}
}

// TestUsualTimes holds the times to what an election asks of them, and the fence to being closed before another may lead.
func TestUsualTimes(t *testing.T) {
	l, _, _ := locked()
	times := Usual()
	if _, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: l, LeaseDuration: times.Lease, RenewDeadline: times.Renew, RetryPeriod: times.Retry,
		Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) {}, OnStoppedLeading: func() {}},
	}); err != nil {
		t.Error(err)
	}
	if times.Renew >= times.Lease {
		t.Errorf("a leader may act for %v, and another may lead after %v", times.Renew, times.Lease)
	}
}
