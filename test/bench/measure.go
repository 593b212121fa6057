// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"time"
)

// options are those of one run.
type options struct {
	dispatcher, peers, out, only string
	full, profile                bool
}

// plan is how long a run takes.
type plan struct {
	loads      []load
	warm, long time.Duration
	rounds     int
}

func (o options) plan() plan {
	if o.profile {
		return plan{warm: time.Second, long: 8 * time.Second, rounds: 1, loads: []load{{1 << 10, 1}}}
	}
	if !o.full {
		return plan{warm: 300 * time.Millisecond, long: 1500 * time.Millisecond, rounds: 1, loads: []load{
			{1 << 10, 1}, {1 << 10, 8}, {1 << 10, 32}, {1 << 10, 128}, {100 << 10, 1}, {100 << 10, 32}, {5 << 20, 1}}}
	}
	p := plan{warm: 500 * time.Millisecond, long: 3 * time.Second, rounds: 3}
	for _, bytes := range []int{1 << 10, 100 << 10, 5 << 20} {
		for _, concurrency := range []int{1, 8, 32, 128} {
			p.loads = append(p.loads, load{bytes, concurrency})
		}
	}
	return p
}

// Result is the whole of a run, as bin/bench/result.json holds it.
type Result struct {
	Started  time.Time  `json:"started"`
	Full     bool       `json:"full"`
	Machine  Machine    `json:"machine"`
	Targets  []Footing  `json:"targets"`
	Loads    []Figures  `json:"loads"`
	Thousand *Thousands `json:"thousand_tools,omitempty"`
}

// Footing is what a target takes beside its calls.
type Footing struct {
	Target   string  `json:"target"`
	Start    float64 `json:"start_ms"` // from the start of its process to the answer to initialize
	Idle     int64   `json:"resident_idle_bytes"`
	Resident int64   `json:"resident_after_load_bytes"`
}

// measure makes one run and writes its result.
func measure(ctx context.Context, o options) error {
	w := &world{options: o}
	var err error
	if w.self, err = os.Executable(); err != nil {
		return err
	}
	if w.dir, err = os.MkdirTemp("", "bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(w.dir) //nolint:errcheck // a folder of temporary files
	result := &Result{Started: time.Now().UTC().Truncate(time.Second), Full: o.full, Machine: machine()}
	result.Machine.Versions = w.versions(ctx)
	targets, err := w.startAll(ctx)
	defer func() {
		for _, t := range targets {
			t.close()
		}
	}()
	if err != nil {
		return err
	}
	if err := rest(ctx); err != nil {
		return err
	}
	result.loads(ctx, targets, o.plan())
	for _, t := range targets {
		for i := range result.Targets {
			if f := &result.Targets[i]; f.Target == t.full() {
				f.Resident = t.resident()
			}
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	for _, t := range targets {
		t.close()
	}
	targets = nil
	if result.Thousand, err = w.thousand(ctx); err != nil {
		return err
	}
	return errors.Join(result.write(o.out), w.profiles(ctx))
}

func (t *target) full() string { return t.name + " (" + t.transport + ")" }

// startAll starts the targets, and lets each answer once.
func (w *world) startAll(ctx context.Context) ([]*target, error) {
	only, err := regexp.Compile(w.only)
	if err != nil {
		return nil, fmt.Errorf("--only: %w", err)
	}
	var targets []*target
	for _, m := range w.makers() {
		t := &target{name: m.name, transport: m.transport}
		if !only.MatchString(t.full()) {
			continue
		}
		targets = append(targets, t)
		if err := m.make(ctx, t); err != nil {
			return targets, fmt.Errorf("%s: %w", t.full(), err)
		}
	}
	return targets, nil
}

// loads drives every target with every load. Targets take turns, so that what else the machine does meets all of them.
func (r *Result) loads(ctx context.Context, targets []*target, p plan) {
	for _, t := range targets {
		r.Targets = append(r.Targets, Footing{Target: t.full(), Start: micro(t.start) / 1000, Idle: t.resident()})
	}
	for _, l := range p.loads {
		samples, errs := make([]sample, len(targets)), make([]error, len(targets))
		for range p.rounds {
			for i, t := range targets {
				if ctx.Err() != nil {
					return
				}
				if errs[i] == nil {
					debug.FreeOSMemory() // no collection of the client's own falls into a measurement
					errs[i] = samples[i].drive(t, l, p.warm, p.long)
				}
			}
		}
		var direct Figures
		for i, t := range targets {
			f := samples[i].figures(t.full(), l)
			if errs[i] != nil {
				f.Error = strings.SplitN(errs[i].Error(), "\n", 2)[0]
			}
			if t.name == "direct" {
				direct = f
			} else if f.Error == "" && direct.Calls > 0 {
				f.AddedP50, f.AddedP99 = f.P50-direct.P50, f.P99-direct.P99
			}
			r.Loads = append(r.Loads, f)
		}
		fmt.Fprintf(os.Stderr, "measured %s\n", l)
	}
}

// versions are those of everything that is measured.
func (w *world) versions(ctx context.Context) map[string]string {
	v := map[string]string{}
	if out, err := exec.CommandContext(ctx, w.options.dispatcher, "version").Output(); err == nil {
		v["dispatcher"] = strings.TrimSpace(string(out))
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			if d.Path == "github.com/modelcontextprotocol/go-sdk" {
				v["Go SDK"] = d.Version
			}
		}
	}
	if w.peers == "" {
		return v
	}
	if out, err := exec.CommandContext(ctx, "node", "--version").Output(); err == nil {
		v["node"] = strings.TrimSpace(string(out))
	}
	for _, name := range []string{"supergateway", "mcp-proxy"} {
		var manifest struct{ Version string }
		data, err := os.ReadFile(filepath.Join(w.peers, name, "node_modules", name, "package.json"))
		if err == nil && json.Unmarshal(data, &manifest) == nil {
			v[name] = manifest.Version
		}
	}
	return v
}
