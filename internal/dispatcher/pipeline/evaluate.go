// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"toolgate.dev/toolgate/internal/dispatcher/listing"
	"toolgate.dev/toolgate/internal/dispatcher/policy"
)

// Check decides on a message that no answer of the server follows: a notification, or a list that is answered from what discovery read.
// What a person would have to confirm is refused, for nobody is asked.
func (p *Pipeline) Check(call policy.Call) *policy.Refusal {
	engine := p.engine.Load()
	if engine == nil {
		return noDocument()
	}
	call.Now = p.Now()
	return engine.Decide(nil, call, p.Trusted(engine)).Refusal
}

// Evaluate says what would become of a call by what discovery read last. It is a dry run: nothing is sent or recorded.
func (p *Pipeline) Evaluate(call policy.Call) policy.Decision {
	engine := p.engine.Load()
	if engine == nil {
		return policy.Decision{Refusal: noDocument(), Stages: []policy.StageResult{}}
	}
	catalogue := p.Discovery.Catalogue()
	if catalogue == nil {
		return policy.Decision{Refusal: listing.NotRead(), Stages: []policy.StageResult{}}
	}
	call.Now = p.Now()
	return engine.Evaluate(listing.View(catalogue), call, p.Trusted(engine))
}
