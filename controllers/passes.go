// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"toolgate.dev/toolgate/controllers/prober"
)

// Passes knows whose tools are being written just now. What is made of all tools of a server, its document and its status, waits
// for the end of a pass: it would otherwise be made anew ten times a second, of thousands of tools, while each brings one more.
// It is safe for concurrent use.
type Passes struct {
	// Written is told at the end of a pass in which somebody waited.
	Written func(prober.Key)

	mu      sync.Mutex
	running map[prober.Key]bool // whether somebody waits
}

// begin begins a pass; the function that it gives ends it. A server has one at a time: a queue sees to that.
func (p *Passes) begin(key prober.Key) (end func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running == nil {
		p.running = map[prober.Key]bool{}
	}
	p.running[key] = false
	return func() {
		p.mu.Lock()
		waits := p.running[key]
		delete(p.running, key)
		p.mu.Unlock()
		if waits {
			p.Written(key)
		}
	}
}

// await says whether a pass is running, at whose end Written is told.
func (p *Passes) await(key prober.Key) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, running := p.running[key]; !running {
		return false
	}
	p.running[key] = true
	return true
}

// share is how much longer than it takes to compute something over a whole namespace it is left alone: among thousands of servers
// that come up, it is a tenth of a worker's time and no more. slowest bounds that.
const (
	share   = 10
	slowest = 10 * time.Second
)

// pace says how long what is computed over a whole namespace waits for more to come, by how long it took last. It is safe for
// concurrent use.
type pace struct {
	mu   sync.Mutex
	last map[reconcile.Request]time.Duration
}

func (p *pace) wait(req reconcile.Request) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return min(max(gathering, share*p.last[req]), slowest)
}

// took is called with what a reconcile took; one that was quick is not remembered.
func (p *pace) took(req reconcile.Request, d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if share*d <= gathering {
		delete(p.last, req)
		return
	}
	if p.last == nil {
		p.last = map[reconcile.Request]time.Duration{}
	}
	p.last[req] = d
}

// paced is a reconciler whose times are kept.
type paced struct {
	reconcile.Reconciler
	pace *pace
}

func (p paced) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	began := time.Now()
	defer func() { p.pace.took(req, time.Since(began)) }()
	return p.Reconciler.Reconcile(ctx, req)
}
