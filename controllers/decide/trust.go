// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"time"

	"k8s.io/utils/ptr"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
)

// trustWord is what spec.trust comes to at a moment.
type trustWord int

const (
	untrusted trustWord = iota
	// trustEnded is trust past its expiry, trustStale is trust that has lapsed in every pod that serves.
	trustEnded
	trustStale
	trusted
)

// trustOf reads spec.trust at a moment; lapses is TrustLapses.
func trustOf(t mcpv1alpha1.Trust, now, lapses time.Time) trustWord {
	switch {
	case t.State != mcpv1alpha1.Trusted:
		return untrusted
	case t.ExpiresAt != nil && !now.Before(t.ExpiresAt.Time):
		return trustEnded
	case lapsed(lapses, now):
		return trustStale
	default:
		return trusted
	}
}

func lapsed(lapses, now time.Time) bool { return !lapses.IsZero() && !now.Before(lapses) }

// TrustEnds is when trust will end next without any event, in the spec's words or since it lapses; the zero time for never.
func TrustEnds(t mcpv1alpha1.Trust, now, lapses time.Time) time.Time {
	if t.State != mcpv1alpha1.Trusted {
		return time.Time{}
	}
	var next time.Time
	if lapses.After(now) {
		next = lapses
	}
	if ends := t.ExpiresAt; ends != nil && ends.After(now) && (next.IsZero() || ends.Time.Before(next)) {
		next = ends.Time
	}
	return next
}

// trust is what spec.trust comes to now, as the status says it.
func (d *ServerInput) trust() *mcpv1alpha1.TrustStatus {
	trust := d.Server.Spec.Trust
	// That no pod trusts any more is said of the tools.
	switch trustOf(trust, d.Now, time.Time{}) {
	case untrusted:
		return &mcpv1alpha1.TrustStatus{State: mcpv1alpha1.TrustNone}
	case trustEnded:
		return &mcpv1alpha1.TrustStatus{State: mcpv1alpha1.TrustHasExpired, Message: fmt.Sprintf(
			"trust ended at %s; to renew it, set spec.trust.expiresAt", trust.ExpiresAt.UTC().Format(time.RFC3339))}
	case trustStale, trusted:
	}
	until, lapses := "trust has no end", "does not lapse in a pod that no manager polls, since spec.trust.maxStalenessSeconds is 0"
	if trust.ExpiresAt != nil {
		until = "trust ends at " + trust.ExpiresAt.UTC().Format(time.RFC3339)
	}
	if stale := staleness(d.Server); stale > 0 {
		lapses = fmt.Sprintf("lapses in a pod that no manager has polled for %d seconds", int(stale.Seconds()))
	}
	return &mcpv1alpha1.TrustStatus{State: mcpv1alpha1.TrustHolds, Message: until + ", and " + lapses}
}

// staleness is how long a dispatcher that nobody polls goes on trusting; 0 for ever.
func staleness(s *mcpv1alpha1.MCPServer) time.Duration {
	return time.Duration(ptr.Deref(s.Spec.Trust.MaxStalenessSeconds, mcpv1alpha1.DefaultMaxStalenessSeconds)) * time.Second
}

// TrustLapses is when the last of the pods that serve stops trusting unless the manager reaches one of them before, or has stopped; the
// zero time where one of them answers, or trust does not lapse. A pod counts from the first poll that it did not answer: when it was
// polled last before, its dispatcher alone knows.
func TrustLapses(s *mcpv1alpha1.MCPServer, pods []Pod) time.Time {
	stale := staleness(s)
	if stale == 0 || s.Spec.Trust.State != mcpv1alpha1.Trusted {
		return time.Time{}
	}
	var last time.Time
	for i := range pods {
		p := &pods[i]
		switch lapses := p.Seen.FailingSince.Add(stale); {
		case !p.Serves():
		case p.Seen.FailingSince.IsZero():
			return time.Time{}
		case lapses.After(last):
			last = lapses
		}
	}
	return last
}
