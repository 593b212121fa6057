// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Validate says what in the document could not be enforced as it stands; all faults are told at once. Whether rules
// compile is not asked here: a set that does not denies what it governs, and the rest of the document still counts.
func (d *Document) Validate() error {
	var faults []error
	add := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if !slices.Contains(whole(), d.Version) {
		add("version %d is not one that this release reads: %v", d.Version, whole())
	}
	if d.Sequence < 0 {
		add("sequence %d is negative", d.Sequence)
	}
	if d.Server.Name == "" {
		add("server.name is empty")
	}
	if e := d.Telemetry.OTLPEndpoint; e != "" && !strings.HasPrefix(e, "http://") && !strings.HasPrefix(e, "https://") {
		add("telemetry.otlpEndpoint %q is not an http or https URL", e)
	}
	if m := d.DomainModel; (m.File == "") != (m.Format == "") {
		add("domainModel needs both file and format")
	}
	faults = append(faults, d.Upstream.faults()...)
	faults = append(faults, d.Policy.faults()...)
	for name, rev := range d.Revisions {
		faults = append(faults, rev.faults(name)...)
	}
	seen := map[string]bool{}
	for i, set := range d.RuleSets {
		if set.Name == "" {
			add("ruleSets/%d has no name", i)
		}
		if seen[set.Name] {
			add("rule set %q is there twice", set.Name)
		}
		seen[set.Name] = true
	}
	// Revisions come from a map: without this the text of the error would change from call to call.
	slices.SortFunc(faults, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(faults...)
}

func (u *Upstream) faults() []error {
	var faults []error
	add := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	switch u.Transport {
	case TransportStdio:
		if u.URL != "" {
			add("upstream.url %q has no meaning with transport stdio", u.URL)
		}
	case TransportStreamableHTTP, TransportSSE, TransportWebSocket:
		if !strings.HasPrefix(u.URL, "http://") && !strings.HasPrefix(u.URL, "https://") {
			add("upstream.url %q is not an http or https URL, which transport %s needs", u.URL, u.Transport)
		}
	default:
		add("upstream.transport %q is not one of %s", u.Transport, Transports())
	}
	switch u.Isolation {
	case "", IsolationSession, IsolationShared:
	default:
		add("upstream.isolation %q is not one of %s, %s; nothing can keep callers apart, since nobody verifies who calls", u.Isolation, IsolationSession, IsolationShared)
	}
	for i, h := range u.Headers {
		if h.Name == "" || h.File == "" {
			add("upstream.headers/%d needs both name and file", i)
		}
	}
	return faults
}

func (p *Policy) faults() []error {
	var faults []error
	add := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	for field, mode := range map[string]Mode{"arguments": p.Validation.Arguments, "results": p.Validation.Results} {
		switch mode {
		case "", Enforce, Warn, Off:
		default:
			add("policy.validation.%s %q is not one of %s, %s, %s", field, mode, Enforce, Warn, Off)
		}
	}
	switch p.Audit.OnFailure {
	case "", AuditBlock, AuditBlockDestructive, AuditContinue:
	default:
		add("policy.audit.onFailure %q is not one of %s, %s, %s", p.Audit.OnFailure, AuditBlock, AuditBlockDestructive, AuditContinue)
	}
	for i, entry := range p.Audit.Redact {
		if entry == "" {
			add("policy.audit.redact/%d is empty", i)
		}
	}
	switch p.Confirm.By {
	case "", ConfirmByCaller, ConfirmByApprover:
	default:
		add("policy.confirm.by %q is not one of %s, %s", p.Confirm.By, ConfirmByCaller, ConfirmByApprover)
	}
	for field, n := range map[string]int{
		"confirm.ttlSeconds":        p.Confirm.TTLSeconds,
		"timeoutSeconds":            p.TimeoutSeconds,
		"limits.requestsPerMinute":  p.Limits.RequestsPerMinute,
		"limits.maxConcurrent":      p.Limits.MaxConcurrent,
		"limits.maxSessions":        p.Limits.MaxSessions,
		"limits.sessionIdleSeconds": p.Limits.SessionIdleSeconds,
		"limits.maxRequestBytes":    p.Limits.MaxRequestBytes,
		"limits.maxResponseBytes":   p.Limits.MaxResponseBytes,
		"health.intervalSeconds":    p.Health.IntervalSeconds,
		"health.timeoutSeconds":     p.Health.TimeoutSeconds,
		"health.failureThreshold":   p.Health.FailureThreshold,
		"discovery.ttlSeconds":      p.Discovery.TTLSeconds,
		"trust.maxStalenessSeconds": p.Trust.MaxStalenessSeconds,
	} {
		if n < 0 {
			add("policy.%s %d is negative", field, n)
		}
	}
	return faults
}

func (r *Revision) faults(name string) []error {
	var faults []error
	seen := map[string]bool{}
	for i, t := range r.Tools {
		if t.Name == "" {
			faults = append(faults, fmt.Errorf("revisions/%s/tools/%d has no name", name, i))
		}
		if seen[t.Name] {
			faults = append(faults, fmt.Errorf("revisions/%s has tool %q twice", name, t.Name))
		}
		seen[t.Name] = true
		if t.Limits.RequestsPerMinute < 0 || t.Limits.MaxConcurrent < 0 {
			faults = append(faults, fmt.Errorf("revisions/%s tool %q: a limit is negative", name, t.Name))
		}
		if t.TimeoutSeconds < 0 {
			faults = append(faults, fmt.Errorf("revisions/%s tool %q: timeoutSeconds %d is negative", name, t.Name, t.TimeoutSeconds))
		}
	}
	return faults
}
