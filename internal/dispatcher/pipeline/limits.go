// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"cmp"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"toolgate.dev/toolgate/internal/dispatcher/policy"
	"toolgate.dev/toolgate/internal/registry"
)

// Callers that hold nothing are forgotten when there are this many, and no more often than this.
const (
	sweepAt    = 1024
	sweepEvery = 10 * time.Second
)

// What stands where the document says nothing (0): only RequestsPerMinute knows "without limit".
const (
	defaultMaxConcurrent   = 64
	defaultMaxSessions     = 20
	defaultSessionIdle     = 30 * time.Minute
	defaultMaxRequestBytes = 4 << 20
)

// limits count what each caller uses.
type limits struct {
	mu      sync.Mutex
	callers map[string]*callerLimits
	swept   time.Time
}

// callerLimits is one caller's use.
type callerLimits struct {
	perMinute int
	messages  *rate.Limiter
	calls     int
	sessions  int
}

// idle says that forgetting the caller gives it nothing.
func (c *callerLimits) idle(now time.Time) bool {
	return c.calls == 0 && c.sessions == 0 && (c.messages == nil || c.messages.TokensAt(now) >= float64(c.messages.Burst()))
}

func (l *limits) caller(address string, now time.Time) *callerLimits {
	c, ok := l.callers[address]
	if ok {
		return c
	}
	if len(l.callers) >= sweepAt && now.Sub(l.swept) >= sweepEvery {
		l.swept = now
		for a, other := range l.callers {
			if other.idle(now) {
				delete(l.callers, a)
			}
		}
	}
	c = &callerLimits{}
	l.callers[address] = c
	return c
}

// allow takes one message off the caller's minute. A limit that changed takes effect with the next message.
func (c *callerLimits) allow(perMinute int, now time.Time) bool {
	if perMinute <= 0 {
		c.messages = nil
		return true
	}
	if c.messages == nil || c.perMinute != perMinute {
		c.perMinute = perMinute
		c.messages = rate.NewLimiter(rate.Limit(float64(perMinute)/60), perMinute)
	}
	return c.messages.AllowN(now, 1)
}

// Limits are those of the document in force, with what stands where it says nothing.
func (p *Pipeline) Limits() registry.Limits {
	var l registry.Limits
	if d := p.Document(); d != nil {
		l = d.Policy.Limits
	}
	l.MaxConcurrent = cmp.Or(l.MaxConcurrent, defaultMaxConcurrent)
	l.MaxSessions = cmp.Or(l.MaxSessions, defaultMaxSessions)
	l.SessionIdleSeconds = cmp.Or(l.SessionIdleSeconds, int(defaultSessionIdle/time.Second))
	l.MaxRequestBytes = cmp.Or(l.MaxRequestBytes, defaultMaxRequestBytes)
	return l
}

// Admit takes one message off the caller's rate: every message costs, refused or not.
func (p *Pipeline) Admit(address string) *policy.Refusal {
	perMinute := p.Limits().RequestsPerMinute
	now := p.Now()
	p.limits.mu.Lock()
	defer p.limits.mu.Unlock()
	if p.limits.caller(address, now).allow(perMinute, now) {
		return nil
	}
	return limited("RequestsPerMinute", fmt.Sprintf("More than %d requests a minute. Wait some seconds and try again.", perMinute))
}

// beginCall counts one call of the caller; end is to be called once.
func (p *Pipeline) beginCall(address string) (end func(), refusal *policy.Refusal) {
	return p.take(address, "MaxConcurrent", p.Limits().MaxConcurrent, "calls at once", func(c *callerLimits) *int { return &c.calls })
}

// BeginSession counts one session of the caller; end is to be called once.
func (p *Pipeline) BeginSession(address string) (end func(), refusal *policy.Refusal) {
	return p.take(address, "MaxSessions", p.Limits().MaxSessions, "sessions", func(c *callerLimits) *int { return &c.sessions })
}

// take counts one use under a limit.
func (p *Pipeline) take(address, name string, limit int, what string, of func(*callerLimits) *int) (func(), *policy.Refusal) {
	p.limits.mu.Lock()
	defer p.limits.mu.Unlock()
	c := p.limits.caller(address, p.Now())
	used := of(c)
	if *used >= limit {
		return nil, limited(name, fmt.Sprintf("More than %d %s. End some and try again.", limit, what))
	}
	*used++
	return func() {
		p.limits.mu.Lock()
		defer p.limits.mu.Unlock()
		*used--
	}, nil
}

func limited(reason, message string) *policy.Refusal {
	return &policy.Refusal{Kind: policy.RateLimited, Stage: policy.StageLimits, Reason: reason, Message: message}
}
