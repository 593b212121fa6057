// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"context"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/rest"
	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/dialer"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/pool"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/probe"
	"toolgate.dev/toolgate/internal/mcp"
	"toolgate.dev/toolgate/internal/registry"
)

// description is what a way to the server is made from. Another one makes another way; all else of a document counts at
// once.
type description struct {
	registry.Upstream
	MaxMessageBytes int
}

func describe(doc *registry.Document) description {
	return description{
		Upstream: doc.Upstream, MaxMessageBytes: doc.Policy.Limits.MaxResponseBytes,
	}
}

// backend is one way to the server: its connections, and the one that watches it.
type backend struct {
	description
	pool   *pool.Pool
	prober *probe.Prober
	// before is what was seen over the way that this one replaced: it holds until this one has read a catalogue.
	before probe.State
	stop   context.CancelFunc
	tasks  sync.WaitGroup

	mu      sync.Mutex
	users   int
	retired bool
	unused  chan struct{} // closed when it is retired and nobody uses it
}

// backends hold the way to the server that is in use, and those that sessions still use.
type backends struct {
	dispatcher *Dispatcher

	current atomic.Pointer[backend]
	closing sync.WaitGroup

	mu     sync.Mutex // held by whoever replaces current
	closed bool
}

var errNoBackend = &upstream.Error{Reason: registry.FailStart,
	Message: "There is no valid registry document yet that says how the server is reached."}

// use makes the document's way to the server the one in use, unless it is already. What began on another one ends there.
func (b *backends) use(doc *registry.Document) error {
	want := describe(doc)
	b.mu.Lock()
	defer b.mu.Unlock()
	old := b.current.Load()
	if b.closed || old != nil && reflect.DeepEqual(old.description, want) {
		return nil
	}
	next, err := b.open(doc, b.state())
	if err != nil {
		return err
	}
	b.current.Store(next)
	if old != nil {
		b.closing.Go(old.retire)
	}
	return nil
}

func (b *backends) open(doc *registry.Document, before probe.State) (*backend, error) {
	d, want := b.dispatcher, describe(doc)
	next := &backend{description: want, before: before, unused: make(chan struct{})}
	ttl := time.Duration(doc.Policy.Discovery.TTLSeconds) * time.Second
	log := d.opts.Log.With("part", "upstream")
	// A change of ttl counts for discovery at once, and for connections with the next way to the server.
	opts := upstream.Options{MaxMessageBytes: want.MaxMessageBytes, CatalogueTTL: ttl, Counters: d.counters}
	ways, err := dialer.New(want.Upstream, d.opts.Spawner, opts, log)
	if err != nil {
		return nil, err
	}
	next.pool = pool.New(ways, pool.Options{
		Isolation: want.Isolation, MaxConns: func() int { return d.maxConns(want.Transport) }, Counters: d.counters, ListChanged: d.listChanged, Listed: d.variants.Listed,
	}, log)
	next.prober = probe.New(ways, probe.Options{Settings: d.probeSettings, Counters: d.counters, ListChanged: next.listChanged(d)}, log)
	ctx, cancel := context.WithCancel(context.Background())
	next.stop = cancel
	next.tasks.Go(func() { next.prober.Run(ctx) })
	next.tasks.Go(func() { d.follow(ctx, next.pool, next.prober) })
	return next, nil
}

// probeSettings are those of the document in force.
func (d *Dispatcher) probeSettings() probe.Settings {
	doc := d.pipeline.Document()
	if doc == nil {
		return probe.Settings{}
	}
	seconds := func(n int) time.Duration { return time.Duration(n) * time.Second }
	h := doc.Policy.Health
	return probe.Settings{Interval: seconds(h.IntervalSeconds), Timeout: seconds(h.TimeoutSeconds), FailureThreshold: h.FailureThreshold,
		TTL: seconds(doc.Policy.Discovery.TTLSeconds)}
}

// follow tells of what the prober sees until ctx ends.
func (d *Dispatcher) follow(ctx context.Context, p *pool.Pool, watch *probe.Prober) {
	digest := ""
	for {
		seen := watch.State()
		if c := seen.Catalogue; c != nil && c.Digest != digest {
			digest = c.Digest
			d.trimmer.Due()
			d.front.ListChanged(mcp.NotifyToolsChanged)
		}
		d.metrics.Healthy(seen.Health.State == probe.Healthy)
		d.changed()
		if seen.Upstream.Phase == registry.UpstreamConnected {
			p.Forgive()
		}
		select {
		case <-seen.Changed:
		case <-ctx.Done():
			return
		}
	}
}

// begin counts a user. It says no to a backend that is retired.
func (b *backend) begin() (end func(), ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.retired {
		return nil, false
	}
	b.users++
	return sync.OnceFunc(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.users--; b.users == 0 && b.retired {
			close(b.unused)
		}
	}), true
}

// retire stops watching at once, and closes the connections when the last session on them has ended.
func (b *backend) retire() {
	b.stop()
	b.mu.Lock()
	b.retired = true
	if b.users == 0 {
		close(b.unused)
	}
	b.mu.Unlock()
	<-b.unused
	b.tasks.Wait()
	_ = b.pool.Close() // what could not be closed has said so in the log
}

// close ends the way in use and waits for those that were retired. Sessions must have ended before.
func (b *backends) close() {
	b.mu.Lock()
	b.closed = true
	current := b.current.Swap(nil)
	b.mu.Unlock()
	if current != nil {
		current.retire()
	}
	b.closing.Wait()
}

// acquire gives the backend in use, with the function that ends its use.
func (b *backends) acquire() (*backend, func(), error) {
	for {
		current := b.current.Load()
		if current == nil {
			return nil, nil, errNoBackend
		}
		if end, ok := current.begin(); ok {
			return current, end, nil
		}
	}
}

// Session gives the connection of a new session.
func (b *backends) Session(ctx context.Context, hello upstream.Hello, handler upstream.Handler) (upstream.Conn, func(), error) {
	backend, end, err := b.acquire()
	if err != nil {
		return nil, nil, err
	}
	conn, release, err := backend.pool.Session(ctx, hello, handler)
	if err != nil {
		end()
		return nil, nil, err
	}
	return conn, func() { release(); end() }, nil
}

// Anonymous gives the connection of one call without a session.
func (b *backends) Anonymous(ctx context.Context) (upstream.Conn, func(), error) {
	backend, end, err := b.acquire()
	if err != nil {
		return nil, nil, err
	}
	conn, release, err := backend.pool.Once(ctx)
	if err != nil {
		end()
		return nil, nil, err
	}
	return conn, func() { release(); end() }, nil
}

// anonymous is Anonymous as the pipeline asks for it.
type anonymous struct{ *backends }

// Conn gives the connection of one call.
func (a anonymous) Conn(ctx context.Context) (upstream.Conn, func(), error) { return a.Anonymous(ctx) }

// state is what the prober sees.
func (b *backends) state() probe.State {
	if current := b.current.Load(); current != nil {
		seen := current.prober.State()
		if seen.Catalogue == nil && seen.Upstream.Phase == registry.UpstreamConnecting && current.before.Catalogue != nil {
			return current.before
		}
		return seen
	}
	return probe.State{
		Upstream: registry.UpstreamState{Phase: registry.UpstreamConnecting}, Health: registry.HealthState{State: probe.Unknown},
	}
}

// Catalogue is the whole catalogue that was read last, nil until there was one.
func (b *backends) Catalogue() *upstream.Catalogue { return b.state().Catalogue }

// Info is what the server said of itself when it was last connected to.
func (b *backends) Info() (upstream.Info, bool) {
	seen := b.state()
	return seen.Info, seen.Info.Era != ""
}

// Health is the last probe.
func (b *backends) Health() rest.Health {
	seen := b.state()
	return rest.Health{HealthState: seen.Health, Checked: seen.ProbedAt}
}
