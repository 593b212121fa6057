// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import corev1 "k8s.io/api/core/v1"

// What an absent field means. The CRDs repeat only what a column or the scale subresource has to read (replicas, trust.state,
// and a RuleSet's priority and format), because a default of the API server reaches a field only where its parents are there:
// a switch in an absent struct would have no value at all.
const (
	DefaultReplicas                      = 1
	DefaultPort                          = 8080
	DefaultPath                          = "/mcp"
	DefaultPathSSE                       = "/sse"
	DefaultTerminationGracePeriodSeconds = 60
	DefaultServicePort                   = 80
	DefaultLogLevel                      = LogLevel("info")
	DefaultTimeoutSeconds                = 30
	DefaultRequestsPerMinute             = 100
	DefaultMaxConcurrent                 = 16
	DefaultMaxSessions                   = 20
	DefaultSessionIdleSeconds            = 1800
	DefaultMaxRequestBytes               = 4 << 20
	DefaultMaxResponseBytes              = 16 << 20
	DefaultHealthIntervalSeconds         = 15
	DefaultHealthTimeoutSeconds          = 5
	DefaultHealthFailureThreshold        = 3
	DefaultTTLSeconds                    = 300
	DefaultMaxStalenessSeconds           = 600
	DefaultConfirmTTLSeconds             = 300
	DefaultMethod                        = "tools/call"
)

// Effective returns a copy of the spec in which every switch and number has the value that is in force, so that what is
// absent, at whatever depth, is what is strict. It is the one place that knows the defaults; readers of a spec go through it.
//
// It has no clock: trust that has an end counts as trust in Trust alone, and leaves the features that default to Deny denied.
//
// The copy is to be read: it shares with the spec whatever it does not fill, since it is made for each tool of a server.
func (s *MCPServerSpec) Effective() *MCPServerSpec {
	e := new(*s)
	orElse(&e.State, StateEnabled)
	if e.Container != nil {
		e.Container = new(*e.Container)
		orElse(&e.Container.SecurityContext.RootFilesystem, VolumeReadWrite)
	}
	e.Transport.fill(e.Remote != nil)
	orNew(&e.Replicas, DefaultReplicas)
	orElse(&e.Scaling, ScalingInternal)
	orElse(&e.Rollout.Type, RolloutRollingUpdate)
	orElse(&e.RestartOn, RestartOnReferences)
	orNew(&e.Pod.TerminationGracePeriodSeconds, DefaultTerminationGracePeriodSeconds)
	orElse(&e.Dispatcher.LogLevel, DefaultLogLevel)
	orElse(&e.Service.Type, corev1.ServiceTypeClusterIP)
	orNew(&e.Service.Port, DefaultServicePort)
	orElse(&e.Network.Egress, EgressInternet)
	orNew(&e.TimeoutSeconds, DefaultTimeoutSeconds)
	e.Limits.fill()
	orNew(&e.Health.IntervalSeconds, DefaultHealthIntervalSeconds)
	orNew(&e.Health.TimeoutSeconds, DefaultHealthTimeoutSeconds)
	orNew(&e.Health.FailureThreshold, DefaultHealthFailureThreshold)
	orNew(&e.Discovery.TTLSeconds, DefaultTTLSeconds)
	orElse(&e.Discovery.Pinning, PinningPerRevision)
	orElse(&e.Trust.State, Untrusted)
	orNew(&e.Trust.MaxStalenessSeconds, DefaultMaxStalenessSeconds)
	orElse(&e.Gating.Destructive, GateBlock)
	orElse(&e.Gating.Unannotated, UnannotatedDestructive)
	orElse(&e.Gating.Scope, GateDestructive)
	orElse(&e.Gating.BlockedTools, BlockedList)
	orElse(&e.Confirm.By, ConfirmByApprover)
	orNew(&e.Confirm.TTLSeconds, DefaultConfirmTTLSeconds)
	e.Expose.fill()
	e.ClientFeatures.fill(e.Trust.State == Trusted && e.Trust.ExpiresAt == nil)
	orElse(&e.Validation.Arguments, ValidationEnforce)
	orElse(&e.Validation.Results, ValidationWarn)
	orElse(&e.Validation.Formats, FormatAnnotate)
	orElse(&e.Audit.Payloads, PayloadsNone)
	orElse(&e.Audit.OnFailure, AuditBlockDestructive)
	return e
}

// Effective returns a copy of the spec with what absent switches mean; see MCPServerSpec.Effective.
func (s *MCPToolSpec) Effective() *MCPToolSpec {
	e := new(*s)
	orElse(&e.State, StateEnabled)
	return e
}

// Effective returns a copy of the spec with what absent switches mean; see MCPServerSpec.Effective.
func (s *RuleSetSpec) Effective() *RuleSetSpec {
	e := new(*s)
	orNew(&e.Priority, 0)
	orElse(&e.Enforcement, EnforcementEnforce)
	orElse(&e.Format, RuleFormatCEL)
	if e.Tools != nil {
		e.Tools = new(*e.Tools)
		orElse(&e.Tools.Destructive, DestructiveAny)
	}
	if len(e.Methods) == 0 {
		e.Methods = []string{DefaultMethod}
	}
	return e
}

func (t *Transport) fill(remote bool) {
	if remote {
		orElse(&t.Type, TransportStreamableHTTP)
		return
	}
	orElse(&t.Type, TransportStdio)
	switch t.Type {
	case TransportStdio:
		orElse(&t.Isolation, IsolationSession)
	case TransportStreamableHTTP, TransportWebSocket:
		orNew(&t.Port, DefaultPort)
		orElse(&t.Path, DefaultPath)
	case TransportSSE:
		orNew(&t.Port, DefaultPort)
		orElse(&t.Path, DefaultPathSSE)
	}
}

func (l *Limits) fill() {
	orNew(&l.RequestsPerMinute, DefaultRequestsPerMinute)
	orNew(&l.MaxConcurrent, DefaultMaxConcurrent)
	orNew(&l.MaxSessions, DefaultMaxSessions)
	orNew(&l.SessionIdleSeconds, DefaultSessionIdleSeconds)
	orNew(&l.MaxRequestBytes, DefaultMaxRequestBytes)
	orNew(&l.MaxResponseBytes, DefaultMaxResponseBytes)
}

func (x *Expose) fill() {
	orElse(&x.Tools, Allow)
	orElse(&x.Resources, Allow)
	orElse(&x.Prompts, Allow)
	orElse(&x.Completions, Allow)
}

// fill denies by default what lets a server act through its client unseen: calling tools while sampling, and sending a person
// to a URL.
func (c *ClientFeatures) fill(trusted bool) {
	sensitive := Deny
	if trusted {
		sensitive = Allow
	}
	orElse(&c.Sampling, Allow)
	orElse(&c.SamplingTools, sensitive)
	orElse(&c.ElicitationForm, Allow)
	orElse(&c.ElicitationURL, sensitive)
	orElse(&c.Roots, Allow)
}

// orElse sets a string that is empty.
func orElse[T ~string](p *T, value T) {
	if *p == "" {
		*p = value
	}
}

// orNew sets a number that is absent.
func orNew[T any](p **T, value T) {
	if *p == nil {
		*p = &value
	}
}
