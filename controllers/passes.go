// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"sync"

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
