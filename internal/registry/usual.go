// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

// DefaultConfirmTTL is Confirm.TTLSeconds where nothing is said.
const DefaultConfirmTTL = 300

// Usual are the numbers that stand where a policy says none: those of the API's absent fields (a test of the renderer compares
// them), but for the two whose 0 says something. Its switches are the strict ones.
func Usual() Policy {
	return Policy{
		TimeoutSeconds: 30,
		Limits: Limits{
			MaxConcurrent: 16, MaxSessions: 20, SessionIdleSeconds: 1800, MaxRequestBytes: 4 << 20, MaxResponseBytes: 16 << 20,
		},
		Health:    Health{IntervalSeconds: 15, TimeoutSeconds: 5, FailureThreshold: 3},
		Discovery: Discovery{TTLSeconds: 300},
		Confirm:   Confirm{TTLSeconds: DefaultConfirmTTL},
	}
}

// fill puts the usual numbers where a policy says none.
func (p *Policy) fill() {
	usual := Usual()
	for _, n := range []struct{ said, usual *int }{
		{&p.TimeoutSeconds, &usual.TimeoutSeconds},
		{&p.Limits.MaxConcurrent, &usual.Limits.MaxConcurrent},
		{&p.Limits.MaxSessions, &usual.Limits.MaxSessions},
		{&p.Limits.SessionIdleSeconds, &usual.Limits.SessionIdleSeconds},
		{&p.Limits.MaxRequestBytes, &usual.Limits.MaxRequestBytes},
		{&p.Limits.MaxResponseBytes, &usual.Limits.MaxResponseBytes},
		{&p.Health.IntervalSeconds, &usual.Health.IntervalSeconds},
		{&p.Health.TimeoutSeconds, &usual.Health.TimeoutSeconds},
		{&p.Health.FailureThreshold, &usual.Health.FailureThreshold},
		{&p.Discovery.TTLSeconds, &usual.Discovery.TTLSeconds},
		{&p.Confirm.TTLSeconds, &usual.Confirm.TTLSeconds},
	} {
		if *n.said == 0 {
			*n.said = *n.usual
		}
	}
}
