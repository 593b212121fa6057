// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"toolgate.dev/toolgate/internal/registry"
)

// State is what the dispatcher enforces and sees, as of now.
func (d *Dispatcher) State() registry.State {
	seen := d.backends.state()
	s := registry.State{
		Supports: registry.Supported(), Dispatcher: d.opts.Version, PodUID: d.opts.PodUID, Revision: d.opts.Revision,
		Ready: d.Ready(), Draining: d.draining.Load(),
		Upstream: seen.Upstream, Catalogue: seen.Observed, Sessions: d.variants.State(), Health: seen.Health,
	}
	s.DomainModel = d.model.State()
	if d.references != nil {
		s.References = d.references.State()
	}
	status := d.watcher.Status()
	s.Registry.Error = status.Error
	if status.Snapshot != nil {
		s.Registry.Digest, s.Registry.Sequence = status.Snapshot.Digest(), status.Snapshot.Document().Sequence
	}
	return s
}

// Ready says whether clients are served. It latches once a document that names the revision is in force and one whole
// catalogue has been read, also where all its tools are withheld. From then on only a drain, or the loss of the server's
// own process, clears it: never a changed catalogue, the manager's absence, or the outage of a remote server.
func (d *Dispatcher) Ready() bool {
	engine, seen := d.pipeline.Engine(), d.backends.state()
	if engine != nil && engine.Snapshot().Known() && seen.Catalogue != nil {
		d.latched.Store(true)
	}
	return d.latched.Load() && !d.draining.Load() && !d.lost(seen.Upstream)
}

// lost says that the server's own process is not there: nothing can be started or reached in the pod. A child that ended
// is no loss: the next one is started when it is needed.
func (d *Dispatcher) lost(u registry.UpstreamState) bool {
	doc := d.pipeline.Document()
	return doc != nil && !doc.Upstream.Remote && u.Phase == registry.UpstreamFailed && u.Reason == registry.FailStart
}
