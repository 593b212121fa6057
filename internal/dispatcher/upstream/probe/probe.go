// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package probe keeps one connection to a server of the dispatcher's own, for discovery and health: it reads the catalogue,
// reads it again when it has changed or aged, asks whether the server still answers, and starts over where it does not.
//
// It owns what registry.State says of the upstream, the catalogue and health. It serves no client and decides nothing
// about policy; it never imports Kubernetes, the API or the launcher.
package probe

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/lists"
	"toolgate.dev/toolgate/internal/mcp"
	"toolgate.dev/toolgate/internal/registry"
)

// Settings are how a server is probed. Zero values are replaced by the usual ones (registry.Usual).
type Settings struct {
	// Interval is between two probes, Timeout bounds one, and FailureThreshold of them in a row make a server unhealthy.
	Interval, Timeout time.Duration
	FailureThreshold  int
	// TTL is after how long the catalogue is read again.
	TTL time.Duration
}

func (s Settings) withDefaults() Settings {
	usual := registry.Usual()
	s.Interval = cmp.Or(s.Interval, time.Duration(usual.Health.IntervalSeconds)*time.Second)
	s.Timeout = cmp.Or(s.Timeout, time.Duration(usual.Health.TimeoutSeconds)*time.Second)
	s.FailureThreshold = cmp.Or(s.FailureThreshold, usual.Health.FailureThreshold)
	s.TTL = cmp.Or(s.TTL, time.Duration(usual.Discovery.TTLSeconds)*time.Second)
	return s
}

// Options of a Prober.
type Options struct {
	// Settings are asked for each time, so that a new registry document counts at once; nil means the defaults.
	Settings func() Settings
	// Hello names the version and the client; its Capabilities are replaced by all that there are, so that a server lists
	// everything that it could ever offer.
	Hello upstream.Hello
	// Counters are those of the dialer, for StdoutNoise; nil means that they are not shown.
	Counters *upstream.Counters
	// ListChanged is called with the method of a notification that the server sent, or may have sent while it was away: a
	// list has changed that is not part of the catalogue. It must not block; nil means that nobody wants to know.
	ListChanged func(method string)
	// Now and After are the clock; nil means the real one. After returns a channel that receives once, and a function that
	// gives the timer back.
	Now   func() time.Time
	After func(time.Duration) (<-chan time.Time, func())
}

// capabilities are all of a client, without tasks: those no client behind a dispatcher has.
const capabilities = `{"roots":{"listChanged":true},"sampling":{"context":{},"tools":{}},"elicitation":{"form":{},"url":{}}}`

func (o Options) withDefaults() Options {
	if o.Settings == nil {
		o.Settings = func() Settings { return Settings{} }
	}
	o.Hello.Capabilities, o.Hello.Prefers = []byte(capabilities), upstream.Modern
	if o.Counters == nil {
		o.Counters = new(upstream.Counters)
	}
	if o.ListChanged == nil {
		o.ListChanged = func(string) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.After == nil {
		o.After = func(d time.Duration) (<-chan time.Time, func()) {
			t := time.NewTimer(d)
			return t.C, func() { t.Stop() }
		}
	}
	return o
}

// Delays before a server is tried again, doubled each time. Where nothing was there to be disturbed they stay short at
// first: a container that starts beside ours is there within seconds, and somebody waits for it.
const (
	startBackoff, mostStartBackoff = 100 * time.Millisecond, time.Second
	quickStarts                    = 50
	firstBackoff, mostBackoff      = 500 * time.Millisecond, 30 * time.Second
	// settled is how long a connection must have lasted, once its catalogue was read, for the delays to begin anew.
	settled = 30 * time.Second
	// mostPatience bounds how long one start may take. Patience is doubled after each start that took too long: where many
	// servers start at once on one machine, ending and starting them again would only make all of them slower.
	mostPatience = 5 * time.Minute
	// readGap is the least time between two readings of the catalogue: some servers report a change at each.
	readGap = time.Second
)

// errProbe is the cause of a probe's time-out.
var errProbe = errors.New("the server did not answer its probe in time")

// Prober watches one server. It is safe for concurrent use.
type Prober struct {
	dialer upstream.Dialer
	opts   Options
	log    *slog.Logger
	// lists has room for one: something has changed in a list since it was taken.
	lists chan struct{}

	// short counts the connections in a row that did not last, although their catalogue was read. It is Run's own.
	short int

	mu      sync.Mutex
	state   State
	changed chan struct{}
	counted time.Time // when a failure was last counted as one of health
}

// New returns a Prober that does nothing until Run. The dialer stays the caller's.
func New(dialer upstream.Dialer, opts Options, log *slog.Logger) *Prober {
	p := &Prober{dialer: dialer, opts: opts.withDefaults(), log: log, lists: make(chan struct{}, 1), changed: make(chan struct{})}
	p.state = State{
		Upstream: registry.UpstreamState{Phase: registry.UpstreamConnecting},
		Health:   registry.HealthState{State: Unknown},
		Changed:  p.changed,
	}
	return p
}

func (p *Prober) settings() Settings { return p.opts.Settings().withDefaults() }

// Run watches the server until ctx ends.
func (p *Prober) Run(ctx context.Context) {
	began, patience := p.opts.Now(), upstream.DefaultStartTimeout
	for failures := 0; ctx.Err() == nil; failures++ {
		read, served, err := p.session(ctx, patience)
		if ctx.Err() != nil {
			return
		}
		e := upstream.AsError(err, registry.FailExited)
		if p.comesUp(e, began) {
			p.publish(func(s *State) { slow(s, e) })
		} else {
			p.failed(e)
		}
		switch {
		case served >= settled:
			failures, patience, p.short = 0, upstream.DefaultStartTimeout, 0
		case read:
			p.short++
		case e.Reason == registry.FailTimeout:
			patience = min(2*patience, mostPatience)
		}
		p.wait(ctx, backoff(e.Reason, failures))
	}
}

// comesUp says that a failure is that of a server which is started beside its dispatcher, and is not there yet: its container
// starts, or it does not listen so far. That is none that people are told of, unless it takes longer than a start may.
func (p *Prober) comesUp(e *upstream.Error, began time.Time) bool {
	return e.Reason == registry.FailStart && upstream.NotListening(e) && p.State().Catalogue == nil &&
		p.opts.Now().Sub(began) < upstream.DefaultStartTimeout
}

func backoff(reason registry.FailureReason, failures int) time.Duration {
	switch {
	case reason != registry.FailStart:
		return min(firstBackoff<<min(failures, 8), mostBackoff)
	case failures < quickStarts:
		return startBackoff
	default:
		return mostStartBackoff
	}
}

func (p *Prober) wait(ctx context.Context, d time.Duration) {
	timer, stop := p.opts.After(d)
	defer stop()
	select {
	case <-timer:
	case <-ctx.Done():
	}
}

// session is the life of one connection. It returns whether its catalogue was read, how long it served then, and why it ended. What
// does not answer any more has served until it did last.
func (p *Prober) session(ctx context.Context, patience time.Duration) (read bool, served time.Duration, err error) {
	hello := p.opts.Hello
	hello.Patience = patience
	conn, err := p.dialer.Dial(ctx, hello, (*handler)(p))
	if err != nil {
		return false, 0, err
	}
	defer func() {
		if err := conn.Close(); err != nil {
			p.log.Warn("the connection could not be closed", "err", err)
		}
	}()
	w := &watch{Prober: p, conn: conn}
	if err := w.read(ctx); err != nil {
		return false, 0, err
	}
	w.begun, w.answered = w.readAt, w.readAt
	err = w.run(ctx)
	if w.missed == 0 {
		w.answered = p.opts.Now()
	}
	return true, w.answered.Sub(w.begun), err
}

// failed notes a failure of the connection, and counts it as one of health, though only once in an interval: a server that
// is being started refuses many times in one. The count ends at the threshold, where it has had its effect: a server that stays
// away must not change the state, and wake all who follow it, with each probe.
func (p *Prober) failed(e *upstream.Error) {
	set, now := p.settings(), p.opts.Now()
	if known := p.State().Upstream; known.Reason != e.Reason || known.Message != e.Message {
		p.log.Warn("the server failed", "reason", e.Reason, "message", e.Message)
	}
	p.publish(func(s *State) {
		fail(&s.Upstream, registry.UpstreamFailed, e)
		if p.counted.IsZero() || now.Sub(p.counted) >= set.Interval/2 {
			p.counted = now
			s.Health.ConsecutiveFailures = max(s.Health.ConsecutiveFailures, min(s.Health.ConsecutiveFailures+1, set.FailureThreshold))
		}
		s.Health.Message = e.Message
		if s.Health.ConsecutiveFailures >= set.FailureThreshold {
			s.Health.State = Unhealthy
		}
		s.ProbedAt = now
	})
}

// watch is the watch over one connection.
type watch struct {
	*Prober
	conn upstream.Conn

	readAt   time.Time // the last reading of the catalogue, whole or not
	nextRead time.Time
	unread   bool      // the last reading failed, and what is known of the catalogue is old
	missed   int       // probes without an answer in a row
	begun    time.Time // when the catalogue was read first; zero before that
	answered time.Time // when the server answered last
}

// most is how many connections in a row may end early before an answer of the next one is not enough to call the server healthy.
const most = 2

// forgives says whether an answer makes up for what failed before: not where connections answer at first and end or hang soon after,
// again and again. Then one has to last.
func (w *watch) forgives(now time.Time) bool {
	return w.short < most || !w.begun.IsZero() && now.Sub(w.begun) >= settled
}

// run probes and reads until the connection ends or does not answer any more.
func (w *watch) run(ctx context.Context) error {
	nextProbe := w.opts.Now().Add(w.settings().Interval)
	for {
		due := w.nextRead
		if nextProbe.Before(due) {
			due = nextProbe
		}
		timer, stop := w.opts.After(max(0, due.Sub(w.opts.Now())))
		select {
		case <-ctx.Done():
			stop()
			return ctx.Err()
		case <-w.conn.Done():
			stop()
			return w.conn.Err()
		case <-w.lists:
			stop()
			w.nextRead = later(w.opts.Now(), w.readAt.Add(readGap))
			continue
		case <-timer:
		}
		now := w.opts.Now()
		if !w.nextRead.After(now) {
			w.outdate()
			if err := w.read(ctx); err != nil {
				w.failed(upstream.AsError(err, registry.FailCatalogue))
			}
			continue
		}
		nextProbe = now.Add(w.settings().Interval)
		if err := w.probe(ctx); err != nil {
			return err
		}
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// outdate makes the connection read its catalogue anew, whatever it thinks of the one it has.
func (w *watch) outdate() {
	if c, ok := w.conn.(interface{ Outdate() }); ok {
		c.Outdate()
	}
}

// read reads the catalogue and counts the other lists.
func (w *watch) read(ctx context.Context) error {
	set, begun := w.settings(), w.opts.Now()
	answered := w.tellIfSlow()
	cat, err := w.conn.Catalogue(ctx)
	answered()
	now := w.opts.Now()
	w.readAt, w.unread = now, err != nil
	if err != nil {
		w.nextRead = now.Add(min(set.Interval, set.TTL))
		return err
	}
	w.nextRead = now.Add(cat.Lasts(set.TTL))
	whole := &upstream.Catalogue{Digest: cat.Digest, Tools: cat.Tools, TTL: cat.TTL}
	if whole.Resources, whole.Prompts, err = lists.Count(ctx, w.conn, upstream.DefaultListTimeout); err != nil {
		w.log.Warn("a list of the server could not be counted", "err", err)
	}
	w.publish(func(s *State) {
		connected(s, w.conn.Info())
		if s.Catalogue == nil || s.Catalogue.Digest != whole.Digest || s.Catalogue.Resources != whole.Resources || s.Catalogue.Prompts != whole.Prompts {
			s.Catalogue, s.Observed = whole, observe(whole)
		}
		s.ReadAt = now
		w.sign(s, now.Sub(begun), now)
	})
	return nil
}

// sign takes a sign of life. While the list can't be read it makes up for nothing: the server answers, and is of no use.
func (w *watch) sign(s *State, took time.Duration, now time.Time) {
	w.answered, s.ProbedAt = now, now
	if w.unread || !w.forgives(now) {
		s.Health.ResponseTimeMs = took.Milliseconds()
		return
	}
	s.Health = registry.HealthState{State: Healthy, ResponseTimeMs: took.Milliseconds()}
	w.counted = time.Time{}
}

// probe asks the server for a sign of life: any answer is one. The error says that the connection is of no use any more.
func (w *watch) probe(ctx context.Context) error {
	set, begun := w.settings(), w.opts.Now()
	limited, cancel := context.WithTimeoutCause(ctx, set.Timeout, errProbe)
	defer cancel()
	method := mcp.MethodPing
	if w.conn.Info().Era == upstream.Modern {
		method = mcp.MethodDiscover
	}
	_, err := w.conn.Call(limited, upstream.Call{Method: method})
	now := w.opts.Now()
	if err == nil {
		w.missed = 0
		w.publish(func(s *State) {
			if !w.unread {
				connected(s, w.conn.Info())
			}
			w.sign(s, now.Sub(begun), now)
		})
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, errProbe) {
		err = &upstream.Error{Reason: registry.FailTimeout, Message: "The server did not answer its probe within " + set.Timeout.String() + ".", Err: err}
	}
	e := upstream.AsError(err, registry.FailExited)
	if w.missed++; w.missed >= set.FailureThreshold || e.Reason == registry.FailStart {
		return e
	}
	w.failed(e)
	return nil
}
