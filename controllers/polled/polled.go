// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package polled is what the one who asks pods and those who decide by the answers have in common: which pod is asked, and what is
// known of it.
//
// It has no code, so that deciding needs nothing that asks; it must not import controllers, a client, or net/http.
package polled

import (
	"time"

	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/registry/statekey"
)

// Target is one pod to ask.
type Target struct {
	// UID and Revision are what the pod must say of itself: an address can have passed on to another pod.
	UID      string
	Revision string
	// Pod and IP are where it is.
	Pod string
	IP  string
	// Started changes each time that the pod's dispatcher starts; a pod that starts is asked at once.
	Started string
	// Awaited says that a change is on its way which the pod has not reported yet, so that the next answer is worth waiting
	// for. It may depend on what was last observed.
	Awaited bool
	// Key proves the pod's answers; with the zero value, which is for pods that predate keys, they are believed as they are.
	Key statekey.Key
}

// Observation is the last that is known of one pod.
type Observation struct {
	Target Target
	// State is the pod's last answer; nil before the first one.
	State *registry.State
	// Err says why the last attempt failed; empty after an answer. State stays what it was.
	Err string
	// FailingSince is when the first of the attempts that failed in a row began; zero after an answer.
	FailingSince time.Time
	// Forged says that somebody else than the pod's dispatcher answered the last attempt, as far as can be told: the answer did
	// not prove otherwise. Nothing of it was believed.
	Forged bool
}
