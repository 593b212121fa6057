// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package dispatcher is the data plane of one server: it puts together the registry document, the way to the server, the
// pipeline between, and the faces towards clients, the manager and the kubelet.
//
// The way of a call through the packages below:
//
//	edge, front, rest      HTTP towards clients: MCP in every revision, and REST
//	session, stream        sessions up to 2025-11-25, and event streams that can be taken up again; subscription those of 2026-07-28
//	requests               what a client asks, as all of these speak of it
//	pipeline               its stages: limits, policy, the server, the record; listing what tools/list answers
//	confirm, input, parking, features   what a person or a client is asked meanwhile
//	audit, metrics, tracing, otlp       what is recorded and counted of it
//	upstream               the server: pool (who owns a connection), link (what one is), a package for each transport, probe
//	variants               what sessions list otherwise than discovery
//
// It owns their life: start, readiness, reload, drain, end. It reads no environment and no arguments, and never imports
// Kubernetes, the API or the launcher: processes come through upstream.Spawner.
package dispatcher

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/admin"
	"toolgate.dev/toolgate/internal/dispatcher/audit"
	"toolgate.dev/toolgate/internal/dispatcher/domainmodel"
	"toolgate.dev/toolgate/internal/dispatcher/edge"
	"toolgate.dev/toolgate/internal/dispatcher/footprint"
	"toolgate.dev/toolgate/internal/dispatcher/front"
	"toolgate.dev/toolgate/internal/dispatcher/handover"
	"toolgate.dev/toolgate/internal/dispatcher/metrics"
	"toolgate.dev/toolgate/internal/dispatcher/pipeline"
	"toolgate.dev/toolgate/internal/dispatcher/references"
	"toolgate.dev/toolgate/internal/dispatcher/rest"
	"toolgate.dev/toolgate/internal/dispatcher/trust"
	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/dispatcher/variants"
	"toolgate.dev/toolgate/internal/dispatcher/watch"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/registry/statekey"
)

// Options say what a dispatcher serves, and where.
type Options struct {
	// RegistryPath is the file of the registry document, or the directory of its files; Revision the dispatcher's own, empty
	// for the only one in it.
	RegistryPath, Revision string
	// Upstream is the way to the server of that revision; nil takes the one that the document names.
	Upstream *registry.Upstream
	// Version and PodUID say who answers at /state, and StateKey proves it; the zero value proves nothing.
	Version, PodUID string
	StateKey        statekey.Key
	// Spawner starts the processes of a stdio server; nil where there are none.
	Spawner upstream.Spawner
	// Release ends what the Spawner started and holds, once a drain is through and at the end; it may be called more than
	// once. Nil where there is nothing to end.
	Release func() error
	// Replicas say how other replicas of the server are reached; the zero value means that there are none.
	Replicas Replicas
	// Listeners are those that are served; each may be nil.
	Listeners Listeners
	// AllowHosts and AllowOrigins are let in beside the server's own names.
	AllowHosts, AllowOrigins []string
	// References is where the ConfigMaps and Secrets of the server are mounted, and what they were at the pod's start; the
	// zero value means that there are none.
	References References
	// DrainSettle is how long a drain waits before it looks at what is in flight, so that whoever sends clients here has
	// heard of it; DrainTimeout bounds the drain.
	DrainSettle, DrainTimeout time.Duration
	// WebSocket serves MCP over WebSocket as well.
	WebSocket bool
	// ShowRules lets dry runs name every rule.
	ShowRules bool
	// Telemetry is where spans, audit records and metrics go.
	Telemetry Telemetry
	// Audit takes the audit records, a JSON line each.
	Audit io.Writer
	Log   *slog.Logger
	Now   func() time.Time
}

// Listeners are where a dispatcher is reached: clients at MCP, the manager at Admin, the kubelet at Probe, and scrapers at
// Metrics, where there is nothing else.
type Listeners struct {
	MCP, Admin, Probe, Metrics net.Listener
}

// References are directories of the pod: see package references.
type References struct{ Dir, Baseline string }

// Replicas are this dispatcher and those of the same server in other pods.
type Replicas struct {
	// Self is the address of this one; the zero value means that there are no others.
	Self netip.Addr
	// Port is that of Listeners.MCP, on every replica alike.
	Port uint16
	// Lookup gives the addresses of all of them.
	Lookup func(ctx context.Context) ([]netip.Addr, error)
}

// Dispatcher serves one MCP server.
type Dispatcher struct {
	opts     Options
	metrics  *metrics.Metrics
	counters *upstream.Counters
	pipeline *pipeline.Pipeline
	backends backends
	variants *variants.Memory
	tracers  tracers
	exports  exports
	watcher  *watch.Watcher
	model    *domainmodel.Model
	// references is nil where the server was started with none.
	references *references.Watcher
	front      *front.Handler
	rest       *rest.Handler
	admin      *admin.Handler
	guard      *edge.Guard
	handover   *handover.Handover
	trimmer    *footprint.Trimmer
	trust      *trust.Watch

	latched  atomic.Bool
	draining atomic.Bool
	drain    sync.Once
	drained  chan struct{} // closed when a drain has ended, whichever way
	failed   error         // why the drain ended early; read after drained
}

// New puts a dispatcher together. It does nothing until Run.
func New(o Options) *Dispatcher {
	d := &Dispatcher{opts: o, metrics: metrics.New(), counters: new(upstream.Counters), drained: make(chan struct{})}
	d.backends, d.tracers.dispatcher, d.exports.dispatcher = backends{dispatcher: d}, d, d
	d.variants = variants.New(variants.Options{Discovery: d.backends.Catalogue, Changed: func() { d.admin.Changed() }, Now: o.Now})
	d.handover = handover.New(handover.Options{Self: o.Replicas.Self, Port: o.Replicas.Port, Lookup: o.Replicas.Lookup, Counted: d.metrics.HandedOver,
		Flight: passing{d}, Now: o.Now, Log: o.Log.With("part", "handover")})
	d.model = domainmodel.New(func() { d.admin.Changed() }, o.Log.With("part", "domain model"))
	d.pipeline = pipeline.New(pipeline.Config{Discovery: &d.backends, Model: d.model, Audit: audit.New(recorded{o.Audit, &d.exports}), Metrics: d.metrics, Log: o.Log, Now: o.Now,
		Tag: d.handover.Tag()})
	d.guard = &edge.Guard{Document: d.pipeline.Document, Hosts: o.AllowHosts, Origins: o.AllowOrigins}
	d.front = front.New(front.Config{Pipeline: d.pipeline, Connections: &d.backends, Info: d.backends.Info, Guard: d.guard,
		Tag: d.handover.Tag(), HandOver: d.handover.Pass, Metrics: d.metrics, Log: o.Log})
	d.rest = rest.New(rest.Config{Pipeline: d.pipeline, Anonymous: anonymous{&d.backends}, Health: d.backends.Health, Guard: d.guard,
		Log: o.Log, Now: o.Now, ShowRules: o.ShowRules})
	d.trust = trust.New(d.pipeline.Trust, d.front.ToolsChanged, o.Now)
	d.admin = admin.New(admin.Config{State: d.State, Polled: d.polled, Metrics: d.metrics.Handler(), Drain: d.Drain, Log: o.Log,
		Key: o.StateKey, PodUID: o.PodUID})
	d.watcher = watch.New(watch.Options{Path: o.RegistryPath, Revision: o.Revision, Upstream: o.Upstream, Apply: d.apply, Report: d.report, Log: o.Log})
	if r := o.References; r.Dir != "" {
		d.references = references.New(references.Options{Dir: r.Dir, Baseline: r.Baseline, Changed: d.admin.Changed, Log: o.Log})
	}
	d.trimmer = footprint.New(d.pipeline.Flight().Begun, o.Log)
	d.observe()
	return d
}

// apply puts a snapshot in force: first the way to the server, then policy. Nothing that is under way is cut off.
func (d *Dispatcher) apply(s *registry.Snapshot) error {
	if err := d.backends.use(s.Document()); err != nil {
		return err
	}
	d.tracers.use(s.Document())
	d.exports.use(s.Document())
	d.model.Use(s.Document().DomainModel)
	d.pipeline.Apply(s)
	d.front.ToolsChanged()
	d.trust.Moved()
	d.trimmer.Due()
	return nil
}

// polled is called when the manager has read the state.
func (d *Dispatcher) polled() {
	d.pipeline.Polled()
	d.trust.Moved()
}

func (d *Dispatcher) report(s watch.Status) {
	result := "applied"
	if s.Error != "" {
		result = "refused"
	}
	d.metrics.Reloaded(result)
	d.changed()
}

// changed is called when any part of the state may be another.
func (d *Dispatcher) changed() {
	d.Ready() // sets the latch at the moment that earns it
	d.admin.Changed()
}

// Run serves until ctx ends, then drains and ends everything. The error says what could not be served.
func (d *Dispatcher) Run(ctx context.Context) error {
	background, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	var tasks sync.WaitGroup
	failures := make(chan error, 4)
	tasks.Go(func() {
		if err := d.watcher.Run(background); err != nil {
			failures <- err
		}
	})
	tasks.Go(func() { d.model.Run(background) })
	if d.references != nil {
		tasks.Go(func() { d.references.Run(background) })
	}
	tasks.Go(func() { d.trimmer.Run(background) })
	tasks.Go(func() { d.trust.Run(background) })
	servers := d.serve(&tasks, failures)
	var err error
	select {
	case <-ctx.Done():
		d.end(background)
	case err = <-failures:
	}
	d.front.Close()
	shutdown(servers) //nolint:contextcheck // ctx has ended: the last answers have a time of their own
	cancel()
	d.release()
	tasks.Wait()
	d.tracers.close() //nolint:contextcheck // likewise: the last spans have a time of their own
	d.exports.close() //nolint:contextcheck // and so have the last records
	return err
}
