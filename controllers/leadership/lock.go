// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package leadership

import (
	"context"
	"fmt"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// LeaseName is the name of the managers' Lease.
const LeaseName = "toolgate-manager"

// Times of an election. Lease is how long others wait for a leader that says nothing, Renew how long a leader may act on its
// last renewal, and Retry how often it renews.
type Times struct {
	Lease, Renew, Retry time.Duration
}

// Usual are the times of an installed manager: the API server may be away for eight seconds, and after a crash nobody leads for
// the lease and one more try, of at most 4.4 s with its jitter.
func Usual() Times {
	return Times{Lease: 15 * time.Second, Renew: 10 * time.Second, Retry: 2 * time.Second}
}

// Lock is the Lease as the election uses it. What becomes of it opens and closes the fence.
type Lock struct {
	resourcelock.Interface
	fence *Fence
	// lost says who holds the lease that was ours.
	lost   chan string
	events events.EventRecorder
}

// NewLock makes the lock in a namespace. The config is one that the fence does not stand in: a lease is taken before it opens.
func NewLock(config *rest.Config, namespace string, t Times, fence *Fence) (*Lock, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("naming this manager: %w", err)
	}
	own := rest.AddUserAgent(rest.CopyConfig(config), "leader-election")
	// One request that hangs must not cost the lease.
	own.Timeout = max(t.Renew/2, time.Second)
	client, err := coordinationv1.NewForConfig(own)
	if err != nil {
		return nil, fmt.Errorf("making a client for the lease: %w", err)
	}
	l := &Lock{fence: fence, lost: make(chan string, 1)}
	l.Interface = &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: namespace, Name: LeaseName},
		Client:     client,
		LockConfig: resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID()), EventRecorder: l},
	}
	return l, nil
}

// Tell makes events of who leads. It is called before the election begins.
func (l *Lock) Tell(r events.EventRecorder) { l.events = r }

// Eventf implements resourcelock.EventRecorder. Who has stopped leading writes nothing any more, events neither.
func (l *Lock) Eventf(lease runtime.Object, kind, reason, message string, args ...any) {
	if l.events != nil && l.fence.Check() == nil {
		l.events.Eventf(lease, nil, kind, reason, "Elect", message, args...)
	}
}

// Get implements resourcelock.Interface. Somebody else's name in a lease that was ours is the end of leading: the election
// would go on trying, and the fence is closed for good.
func (l *Lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	if err == nil && record.HolderIdentity != "" && record.HolderIdentity != l.Identity() && l.fence.close() {
		select {
		case l.lost <- record.HolderIdentity:
		default: // it has been told before, and the process is about to end
		}
	}
	return record, raw, err
}

// Create implements resourcelock.Interface.
func (l *Lock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(record, func() error { return l.Interface.Create(ctx, record) })
}

// Update implements resourcelock.Interface.
func (l *Lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(record, func() error { return l.Interface.Update(ctx, record) })
}

// write renews or releases the lease. Only one that is held for certain is released: the election goes by what it has seen
// last, and would empty the lease of the next leader.
func (l *Lock) write(record resourcelock.LeaderElectionRecord, send func() error) error {
	sent := l.fence.now()
	if record.HolderIdentity == "" {
		err := l.fence.Check()
		l.fence.close()
		if err != nil {
			return fmt.Errorf("the lease is not released: %w", err)
		}
		return send()
	}
	if err := send(); err != nil {
		return err
	}
	l.fence.renew(sent)
	return nil
}

// Start implements manager.Runnable: it ends with an error when the lease is lost.
func (l *Lock) Start(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case holder := <-l.lost:
		return fmt.Errorf("this manager has lost its lease: %s leads", holder)
	}
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (l *Lock) NeedLeaderElection() bool { return false }

var _ resourcelock.EventRecorder = (*Lock)(nil)
