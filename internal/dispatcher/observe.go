// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dispatcher

// observe adds the series that are read off what runs.
func (d *Dispatcher) observe() {
	m, c := d.metrics, d.counters
	m.CounterFunc("toolgate_child_starts_total", "Processes of the server that were started.", c.ChildStarts.Load)
	m.CounterFunc("toolgate_child_deaths_total", "Processes of the server that ended before they were asked to.", c.ChildDeaths.Load)
	m.CounterFunc("toolgate_child_starts_held_back_total", "Connections that were refused because the server had failed to start several times in a row.", c.HeldBack.Load)
	m.CounterFunc("toolgate_stdout_noise_total", "Lines on the server's standard output that were not JSON-RPC.", c.StdoutNoise.Load)
	m.CounterFunc("toolgate_upstream_dropped_total", "Messages of the server that its connection had no owner for.", c.DroppedMessages.Load)
	m.CounterFunc("toolgate_spans_exported_total", "Spans that reached the collector.", d.tracers.counters.Exported.Load)
	m.CounterFunc("toolgate_spans_dropped_total", "Spans that did not.", d.tracers.counters.Dropped.Load)
	sent := &d.exports.counters
	m.CounterFunc("toolgate_audit_records_exported_total", "Audit records that reached the collector.", sent.Records.Load)
	m.CounterFunc("toolgate_audit_records_dropped_total", "Audit records that did not: they are on standard output alone.", sent.RecordsDropped.Load)
	m.CounterFunc("toolgate_metrics_exported_total", "Readings of the metrics that reached the collector.", sent.Readings.Load)
	m.CounterFunc("toolgate_metrics_dropped_total", "Readings of the metrics that did not.", sent.ReadingsDropped.Load)
	m.GaugeFunc("toolgate_queue_depth", "Messages that wait for room towards the server.", func() float64 { return float64(c.Waiting.Load()) })
	m.GaugeFunc("toolgate_trusted", "1 while destructive tools may be called.", func() float64 {
		e := d.pipeline.Engine()
		return truth(e != nil && d.pipeline.Trusted(e))
	})
	m.GaugeFunc("toolgate_ready", "1 while clients are served.", func() float64 { return truth(d.Ready()) })
	m.GaugeFunc("toolgate_listeners", "Open subscriptions of clients.", func() float64 { return float64(d.front.Listeners()) })
	m.GaugeFunc("toolgate_registry_sequence", "Sequence of the registry document in force, 0 without one.", func() float64 {
		if doc := d.pipeline.Document(); doc != nil {
			return float64(doc.Sequence)
		}
		return 0
	})
	d.observeCatalogue()
}

func (d *Dispatcher) observeCatalogue() {
	m := d.metrics
	m.GaugeFunc("toolgate_catalogue_tools", "Tools that the server lists.", func() float64 {
		if c := d.backends.Catalogue(); c != nil {
			return float64(len(c.Tools))
		}
		return 0
	})
	m.GaugeFunc("toolgate_catalogue_age_seconds", "How long ago the server's catalogue was read, -1 before it first was.", func() float64 {
		if read := d.backends.state().ReadAt; !read.IsZero() {
			return d.opts.Now().Sub(read).Seconds()
		}
		return -1
	})
	const help = "Tools that differ from what the registry document admits (changed, not in it, or not listed any more), or in sessions from what discovery lists."
	for _, change := range []string{changed, unknown, gone, sessions} {
		m.LabelledGaugeFunc("toolgate_catalogue_drift_tools", help, "change", change, func() float64 { return float64(d.drift()[change]) })
	}
}

// The ways in which a catalogue can differ from a document.
const (
	changed = "changed"
	unknown = "unknown"
	gone    = "gone"
	// sessions is of those of which sessions were listed something else than discovery.
	sessions = "sessions"
)

// drift counts the tools whose listed definition is not the admitted one; none before a catalogue and a document are there.
func (d *Dispatcher) drift() map[string]int {
	catalogue, engine := d.backends.Catalogue(), d.pipeline.Engine()
	if catalogue == nil || engine == nil {
		return nil
	}
	out, listed := map[string]int{}, map[string]bool{}
	for i := range catalogue.Tools {
		tool := &catalogue.Tools[i]
		listed[tool.Name] = true
		admitted, known := engine.Snapshot().Tool(tool.Name)
		switch {
		case !known:
			out[unknown]++
		case (admitted.Digest != "" || len(admitted.Digests) > 0) && !admitted.Admits(tool.Digest, &engine.Snapshot().Document().Policy):
			out[changed]++
		}
	}
	for _, admitted := range engine.Snapshot().Tools() {
		if admitted.Digest != "" && !listed[admitted.Name] {
			out[gone]++
		}
	}
	names := map[string]bool{}
	for _, t := range d.variants.State().Tools {
		names[t.Name] = true
	}
	out[sessions] = len(names)
	return out
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
