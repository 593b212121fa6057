// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package prober

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"toolgate.dev/toolgate/controllers/polled"
)

// How often, how long and how many.
const (
	// Interval is between two answers of a pod from which nothing is awaited.
	Interval = 15 * time.Second
	// jitter spreads pods that were started together, as a share of Interval.
	jitter = 0.2
	// Timeout bounds an attempt, and with it what a pod that swallows packets costs.
	Timeout = 2 * time.Second
	// Wait is how long a pod may hold back its answer while a change is awaited from it.
	Wait = 10 * time.Second
	// MaxConcurrent bounds the attempts at one time. A poll that waits for a change does not count: it waits idle, and only
	// a pod that has just answered is asked so.
	MaxConcurrent = 32
	// MaxWaiting bounds those.
	MaxWaiting = 256
	// firstRetry and maxRetry are between attempts that fail; it doubles in between. A new pod refuses until its container
	// runs, and its first answer is what people wait for.
	firstRetry = 250 * time.Millisecond
	maxRetry   = Interval
	// breath is between answers of a pod from which something is awaited: it bounds what one that answers at once can cost.
	breath = 50 * time.Millisecond
	// crowded is between answers of a pod from which something is awaited while there is no place left to wait: hundreds of pods
	// whose servers fail for hours don't keep others from telling that they enforce what is new.
	crowded = Interval / 3
)

// errWoken says that what a poll waited for may have changed, and that it is to be made anew. It says nothing about the pod.
var errWoken = errors.New("woken")

// Options set up a Prober.
type Options struct {
	// URL gives the address of a pod's state: PodURL, but where pods are played.
	URL func(polled.Target) string
	// Client speaks HTTP: NewClient, but where pods are played.
	Client *http.Client
	// Clock says when to ask.
	Clock clock.Clock
	// Timeout bounds an attempt; 0 means Timeout of this package, which is what a manager takes.
	Timeout time.Duration
	// Changed is called, from any goroutine, when Observe would give something new for a server. It must not block.
	Changed func(types.NamespacedName)
}

// Prober asks pods. It is safe for concurrent use.
type Prober struct {
	opts    Options
	slots   chan struct{}
	waiting chan struct{}
	// large is held while an answer is read that is not small.
	large chan struct{}

	mu      sync.Mutex
	workers map[types.NamespacedName]map[string]*worker
	// held is the size of all states that are kept, in bytes.
	held   int
	closed bool
	wg     sync.WaitGroup
}

// worker asks one pod.
type worker struct {
	cancel context.CancelFunc
	// kick wakes the worker: something about its target has changed. One pending kick is as good as many.
	kick chan struct{}
	// seen is guarded by Prober.mu, and its Target is what to ask next.
	seen polled.Observation
	etag string
	// size is what the state takes up; released says that it is not kept any more.
	size     int
	released bool
	// crowdedOut says that the last attempt found no place to wait. It belongs to the goroutine that asks.
	crowdedOut bool
}

// New makes a prober that asks nobody yet.
func New(opts Options) *Prober {
	opts.Timeout = cmp.Or(opts.Timeout, Timeout)
	return &Prober{
		opts:    opts,
		slots:   make(chan struct{}, MaxConcurrent),
		waiting: make(chan struct{}, MaxWaiting),
		large:   make(chan struct{}, 1),
		workers: map[types.NamespacedName]map[string]*worker{},
	}
}

// Watch says who is to be asked for a server: pods that are not among targets are forgotten, new ones are asked at once,
// and one whose address or expectation has changed is asked again at once. No targets forgets the server.
func (p *Prober) Watch(key types.NamespacedName, targets []polled.Target) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	old := p.workers[key]
	now := make(map[string]*worker, len(targets))
	for _, t := range targets {
		w := old[t.UID]
		delete(old, t.UID)
		switch {
		case w == nil:
			w = p.start(key, t)
		case w.seen.Target != t:
			w.seen.Target = t
			w.wake()
		}
		now[t.UID] = w
	}
	for _, w := range old {
		p.release(w)
	}
	if len(now) == 0 {
		delete(p.workers, key)
		return
	}
	p.workers[key] = now
}

// Stop ends all attempts and waits for them.
func (p *Prober) Stop() {
	p.mu.Lock()
	p.closed = true
	for _, workers := range p.workers {
		for _, w := range workers {
			w.cancel()
		}
	}
	p.mu.Unlock()
	p.wg.Wait()
}

// start is called with the lock held.
func (p *Prober) start(key types.NamespacedName, t polled.Target) *worker {
	// A pod is asked for as long as it is a target, however short the call that made it one.
	ctx, cancel := context.WithCancel(context.Background())
	w := &worker{cancel: cancel, kick: make(chan struct{}, 1), seen: polled.Observation{Target: t}}
	p.wg.Go(func() { p.run(ctx, key, w) })
	return w
}

func (w *worker) wake() {
	select {
	case w.kick <- struct{}{}:
	default:
	}
}

// run asks one pod until its context ends.
func (p *Prober) run(ctx context.Context, key types.NamespacedName, w *worker) {
	retry := firstRetry
	answered := false
	for ctx.Err() == nil {
		err := p.ask(ctx, key, w, answered)
		if ctx.Err() != nil {
			return
		}
		answered = err == nil
		if errors.Is(err, errWoken) {
			continue
		}
		pause := p.pause(w)
		if err != nil {
			pause, retry = retry, min(2*retry, maxRetry)
		} else {
			retry = firstRetry
		}
		timer := p.opts.Clock.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-w.kick:
			retry = firstRetry
		case <-timer.C():
		}
		timer.Stop()
	}
}

// pause is until a pod that has answered is asked again: a breath while something is awaited from it.
func (p *Prober) pause(w *worker) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case !w.seen.Target.Awaited || w.etag == "":
		return spread()
	case w.crowdedOut:
		return crowded
	default:
		return breath
	}
}

func spread() time.Duration {
	return time.Duration(float64(Interval) * (1 + jitter*(2*rand.Float64()-1))) //nolint:gosec // spreading load needs no secrecy
}

// ask makes one attempt and records what came of it.
func (p *Prober) ask(ctx context.Context, key types.NamespacedName, w *worker, answered bool) error {
	p.mu.Lock()
	target, etag := w.seen.Target, w.etag
	p.mu.Unlock()
	wait, leave := p.enter(ctx, w, target.Awaited && answered && etag != "")
	defer leave()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	began := p.opts.Clock.Now()
	attempt, end := p.bounded(ctx, w, wait)
	answer, err := p.get(attempt, target, etag, wait)
	woken := end()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case woken && err != nil:
		return errWoken
	}
	if p.record(w, answer, err, began) {
		p.opts.Changed(key)
	}
	if woken {
		return errWoken
	}
	return err
}

// enter waits for a place among the attempts, and says how long the pod may hold back its answer: for none where that is not wanted,
// or no place is left to wait in. The place is to be left, also where the context has ended meanwhile.
func (p *Prober) enter(ctx context.Context, w *worker, waits bool) (wait time.Duration, leave func()) {
	w.crowdedOut = false
	if waits {
		select {
		case p.waiting <- struct{}{}:
			return Wait, func() { <-p.waiting }
		default:
			w.crowdedOut = true
		}
	}
	select {
	case <-ctx.Done():
		return 0, func() {}
	case p.slots <- struct{}{}:
		return 0, func() { <-p.slots }
	}
}

// bounded ends an attempt in time; a poll that waits also ends when the worker is woken, of which end tells, also where the answer
// came first. The time is real whatever the clock: it bounds what happens on a network.
func (p *Prober) bounded(ctx context.Context, w *worker, wait time.Duration) (attempt context.Context, end func() (woken bool)) {
	timed, stop := context.WithTimeout(ctx, wait+p.opts.Timeout)
	if wait == 0 {
		return timed, func() bool { stop(); return false }
	}
	attempt, cancel := context.WithCancel(timed)
	woken := make(chan bool, 1)
	go func() {
		select {
		case <-attempt.Done():
			woken <- false
		case <-w.kick:
			cancel()
			woken <- true
		}
	}()
	return attempt, func() bool { stop(); return <-woken }
}

// record keeps the outcome of an attempt and says whether it is news. An answer that has not changed comes without a state.
func (p *Prober) record(w *worker, answer reply, err error, began time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w.released {
		return false
	}
	before := w.seen
	if err == nil && answer.state != nil {
		err = p.keep(w, answer.size)
	}
	if err != nil {
		w.seen.Err, w.seen.Forged = err.Error(), errors.Is(err, errForged)
		if w.seen.FailingSince.IsZero() {
			w.seen.FailingSince = began
		}
		return before.Err != w.seen.Err
	}
	w.seen.Err, w.seen.FailingSince, w.seen.Forged = "", time.Time{}, false
	if answer.state == nil {
		return before.Err != ""
	}
	w.seen.State, w.etag = answer.state, answer.etag
	return true
}
