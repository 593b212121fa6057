// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"slices"

	"k8s.io/utils/ptr"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/registry"
)

// policy resolves every switch of a server. All defaults that matter to safety are here and nowhere else: what is absent is
// the strict value, except where strict would mean a server that does nothing.
func policy(s *mcpv1alpha1.MCPServer) registry.Policy {
	spec := &s.Spec
	return registry.Policy{
		TimeoutSeconds: number(spec.TimeoutSeconds, defaultTimeoutSeconds),
		Limits:         limits(s),
		Health: registry.Health{
			IntervalSeconds:  number(spec.Health.IntervalSeconds, defaultHealthInterval),
			TimeoutSeconds:   number(spec.Health.TimeoutSeconds, defaultHealthTimeout),
			FailureThreshold: number(spec.Health.FailureThreshold, defaultFailureThreshold),
		},
		Discovery: registry.Discovery{
			TTLSeconds: number(spec.Discovery.TTLSeconds, defaultTTLSeconds),
			PinningOff: Pinning(s) == mcpv1alpha1.PinningOff,
		},
		Trust: trust(spec.Trust),
		Gating: registry.Gating{
			UnannotatedSafe: spec.Gating.Unannotated == mcpv1alpha1.UnannotatedSafe,
			Mutating:        spec.Gating.Scope == mcpv1alpha1.GateMutating,
			HideBlocked:     spec.Gating.BlockedTools == mcpv1alpha1.BlockedHide,
		},
		Expose: registry.Expose{
			Tools:       spec.Expose.Tools != mcpv1alpha1.Deny,
			Resources:   spec.Expose.Resources != mcpv1alpha1.Deny,
			Prompts:     spec.Expose.Prompts != mcpv1alpha1.Deny,
			Completions: spec.Expose.Completions != mcpv1alpha1.Deny,
		},
		Client: clientFeatures(spec),
		Validation: registry.Validation{
			Arguments:     mode(spec.Validation.Arguments, registry.Enforce),
			Results:       mode(spec.Validation.Results, registry.Warn),
			AssertFormats: spec.Validation.Formats == mcpv1alpha1.FormatAssert,
		},
		Passthrough: slices.Clone(spec.Passthrough),
	}
}

// limits divides what counts across all replicas; sessions and sizes are counted by each.
func limits(s *mcpv1alpha1.MCPServer) registry.Limits {
	l := s.Spec.Limits
	share := func(n int) int {
		replicas := max(int(Replicas(s)), 1)
		return (n + replicas - 1) / replicas
	}
	return registry.Limits{
		RequestsPerMinute:  share(number(l.RequestsPerMinute, defaultRequestsPerMinute)),
		MaxConcurrent:      share(number(l.MaxConcurrent, defaultMaxConcurrent)),
		MaxSessions:        number(l.MaxSessions, defaultMaxSessions),
		SessionIdleSeconds: number(l.SessionIdleSeconds, defaultSessionIdleSeconds),
		MaxRequestBytes:    number(l.MaxRequestBytes, defaultMaxRequestBytes),
		MaxResponseBytes:   number(l.MaxResponseBytes, defaultMaxResponseBytes),
	}
}

func trust(t mcpv1alpha1.Trust) registry.Trust {
	out := registry.Trust{
		Trusted:             t.State == mcpv1alpha1.Trusted,
		MaxStalenessSeconds: number(t.MaxStalenessSeconds, defaultMaxStaleness),
	}
	if t.ExpiresAt != nil {
		out.ExpiresAt = t.ExpiresAt.Unix()
	}
	return out
}

// clientFeatures opens what a person opened, or did not close. What lets a server act through its client stays closed by
// default until the server is trusted for good: trust that ends must not leave it open while no manager renders again.
func clientFeatures(spec *mcpv1alpha1.MCPServerSpec) registry.Client {
	f := spec.ClientFeatures
	trusted := spec.Trust.State == mcpv1alpha1.Trusted && spec.Trust.ExpiresAt == nil
	return registry.Client{
		Sampling:        f.Sampling != mcpv1alpha1.Deny,
		SamplingTools:   f.SamplingTools == mcpv1alpha1.Allow || f.SamplingTools == "" && trusted,
		ElicitationForm: f.ElicitationForm != mcpv1alpha1.Deny,
		ElicitationURL:  f.ElicitationURL == mcpv1alpha1.Allow || f.ElicitationURL == "" && trusted,
		Roots:           f.Roots != mcpv1alpha1.Deny,
	}
}

// mode keeps a value that it does not know, so that the document is refused rather than loosened.
func mode(m mcpv1alpha1.ValidationMode, byDefault registry.Mode) registry.Mode {
	if m == "" {
		return byDefault
	}
	return registry.Mode(m)
}

func number(p *int32, byDefault int32) int { return int(ptr.Deref(p, byDefault)) }
