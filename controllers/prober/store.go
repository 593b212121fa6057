// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package prober

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"toolgate.dev/toolgate/controllers/polled"
)

// Observe gives what is known of a server's pods, sorted by pod. Pods that have not answered are among them.
func (p *Prober) Observe(key types.NamespacedName) []polled.Observation {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]polled.Observation, 0, len(p.workers[key]))
	for _, w := range p.workers[key] {
		out = append(out, w.seen)
	}
	slices.SortFunc(out, func(a, b polled.Observation) int {
		return cmp.Or(cmp.Compare(a.Target.Pod, b.Target.Pod), cmp.Compare(a.Target.UID, b.Target.UID))
	})
	return out
}

// Count is how many pods are asked, and how many of them did not answer when they were last asked.
func (p *Prober) Count() (asked, failing int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, workers := range p.workers {
		for _, w := range workers {
			asked++
			if !w.seen.FailingSince.IsZero() {
				failing++
			}
		}
	}
	return asked, failing
}
