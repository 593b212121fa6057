// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"slices"

	"k8s.io/utils/ptr"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/registry"
)

// policy writes down every switch of a server. What is absent means what Effective says.
func policy(s *mcpv1alpha1.MCPServer, replicas int32) registry.Policy {
	spec := s.Spec.Effective()
	return registry.Policy{
		TimeoutSeconds: int(*spec.TimeoutSeconds),
		Limits:         limits(spec, replicas),
		Health: registry.Health{
			IntervalSeconds:  int(*spec.Health.IntervalSeconds),
			TimeoutSeconds:   int(*spec.Health.TimeoutSeconds),
			FailureThreshold: int(*spec.Health.FailureThreshold),
		},
		Discovery: registry.Discovery{
			TTLSeconds: int(*spec.Discovery.TTLSeconds),
			PinningOff: spec.Discovery.Pinning == mcpv1alpha1.PinningOff,
		},
		Trust: trust(spec.Trust),
		Gating: registry.Gating{
			Confirm:         spec.Gating.Destructive == mcpv1alpha1.GateConfirm,
			UnannotatedSafe: spec.Gating.Unannotated == mcpv1alpha1.UnannotatedSafe,
			Mutating:        spec.Gating.Scope == mcpv1alpha1.GateMutating,
			HideBlocked:     spec.Gating.BlockedTools == mcpv1alpha1.BlockedHide,
		},
		Confirm: confirmation(spec.Confirm),
		Expose: registry.Expose{
			Tools:       allowed(spec.Expose.Tools),
			Resources:   allowed(spec.Expose.Resources),
			Prompts:     allowed(spec.Expose.Prompts),
			Completions: allowed(spec.Expose.Completions),
		},
		Client: registry.Client{
			Sampling:        allowed(spec.ClientFeatures.Sampling),
			SamplingTools:   allowed(spec.ClientFeatures.SamplingTools),
			ElicitationForm: allowed(spec.ClientFeatures.ElicitationForm),
			ElicitationURL:  allowed(spec.ClientFeatures.ElicitationURL),
			Roots:           allowed(spec.ClientFeatures.Roots),
		},
		Validation: registry.Validation{
			// A value that is not known here is passed on, so that the document is refused rather than loosened.
			Arguments:     registry.Mode(spec.Validation.Arguments),
			Results:       registry.Mode(spec.Validation.Results),
			AssertFormats: spec.Validation.Formats == mcpv1alpha1.FormatAssert,
		},
		Audit:       audit(spec.Audit),
		Passthrough: slices.Clone(spec.Passthrough),
	}
}

// audit leaves out what is the default, so that a document is read by dispatchers that know no audit settings yet. A value of
// onFailure that is not known here is passed on, so that the document is refused rather than loosened.
func audit(a mcpv1alpha1.Audit) registry.Audit {
	out := registry.Audit{
		Arguments: a.Payloads == mcpv1alpha1.PayloadsArguments || a.Payloads == mcpv1alpha1.PayloadsAll,
		Results:   a.Payloads == mcpv1alpha1.PayloadsResults || a.Payloads == mcpv1alpha1.PayloadsAll,
		Redact:    slices.Clone(a.Redact),
	}
	if a.OnFailure != mcpv1alpha1.AuditBlockDestructive {
		out.OnFailure = registry.AuditFailure(a.OnFailure)
	}
	return out
}

// confirmation says nothing where what stands for that is meant, so that documents without confirmations stay as they are. A
// value that is not known is passed on, so that the document is refused rather than loosened.
func confirmation(c mcpv1alpha1.Confirm) registry.Confirm {
	var out registry.Confirm
	if c.By != mcpv1alpha1.ConfirmByApprover {
		out.By = registry.ConfirmBy(c.By)
	}
	if ttl := int(*c.TTLSeconds); ttl != registry.DefaultConfirmTTL {
		out.TTLSeconds = ttl
	}
	return out
}

// limits divides what counts across all replicas; sessions and sizes are counted by each.
func limits(spec *mcpv1alpha1.MCPServerSpec, replicas int32) registry.Limits {
	l := spec.Limits
	share := shareOf(replicas)
	return registry.Limits{
		RequestsPerMinute:  share(l.RequestsPerMinute),
		MaxConcurrent:      share(l.MaxConcurrent),
		MaxSessions:        int(*l.MaxSessions),
		SessionIdleSeconds: int(*l.SessionIdleSeconds),
		MaxRequestBytes:    int(*l.MaxRequestBytes),
		MaxResponseBytes:   int(*l.MaxResponseBytes),
	}
}

// shareOf gives each replica its part of a limit, rounded up; 0 where there is none.
func shareOf(replicas int32) func(limit *int32) int {
	n := max(replicas, 1)
	return func(limit *int32) int { return int((ptr.Deref(limit, 0) + n - 1) / n) }
}

func trust(t mcpv1alpha1.Trust) registry.Trust {
	out := registry.Trust{
		Trusted:             t.State == mcpv1alpha1.Trusted,
		MaxStalenessSeconds: int(*t.MaxStalenessSeconds),
	}
	if t.ExpiresAt != nil {
		out.ExpiresAt = t.ExpiresAt.Unix()
	}
	return out
}

// allowed opens on the word alone: a value that is not known stays shut.
func allowed(a mcpv1alpha1.Access) bool { return a == mcpv1alpha1.Allow }
