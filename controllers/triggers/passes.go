// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package triggers

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Passes knows whose tools are being written just now. What is made of all tools of a server, its document and its status, waits
// for the end of a pass: it would otherwise be made anew ten times a second, of thousands of tools, while each brings one more.
// It is safe for concurrent use.
type Passes struct {
	// Written is told at the end of a pass in which somebody waited.
	Written func(types.NamespacedName)

	mu      sync.Mutex
	running map[types.NamespacedName]bool // whether somebody waits
}

// Begin begins a pass; the function that it gives ends it. A server has one at a time: a queue sees to that.
func (p *Passes) Begin(key types.NamespacedName) (end func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running == nil {
		p.running = map[types.NamespacedName]bool{}
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
func (p *Passes) await(key types.NamespacedName) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, running := p.running[key]; !running {
		return false
	}
	p.running[key] = true
	return true
}
