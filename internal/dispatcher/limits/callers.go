// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package limits bounds what requests may use: messages a minute, calls and sessions of one caller, the time of a call, and
// how many are in flight when a drain waits for them.
//
// It counts and decides by the numbers that it is given, and knows what stands where a document leaves one out. It moves no message, and
// never imports Kubernetes or the API.
package limits

import (
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

// Callers count what each caller uses. They are told apart by address. It is safe for concurrent use.
type Callers struct {
	now func() time.Time

	mu      sync.Mutex
	callers map[string]*callerLimits
	swept   time.Time
}

// NewCallers gives a count on a clock.
func NewCallers(now func() time.Time) *Callers {
	return &Callers{now: now, callers: map[string]*callerLimits{}}
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

func (l *Callers) caller(address string, now time.Time) *callerLimits {
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

// Admit takes one message off the caller's rate: every message costs, refused or not.
func (l *Callers) Admit(address string, perMinute int) *policy.Refusal {
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.caller(address, now).allow(perMinute, now) {
		return nil
	}
	return Refuse("RequestsPerMinute", fmt.Sprintf("More than %d requests a minute. Wait some seconds and try again.", perMinute))
}

// Place is one use of a caller that counts. The zero value is none.
type Place struct {
	callers *Callers
	used    *int
}

// End gives the place back. It is to be called once.
func (p Place) End() {
	if p.callers == nil {
		return
	}
	p.callers.mu.Lock()
	defer p.callers.mu.Unlock()
	*p.used--
}

// BeginCall counts one call of the caller.
func (l *Callers) BeginCall(address string, most int) (Place, *policy.Refusal) {
	return l.take(address, "MaxConcurrent", most, "calls at once", func(c *callerLimits) *int { return &c.calls })
}

// BeginToolCall counts one call of one tool by the caller under the limits of that tool.
func (l *Callers) BeginToolCall(address, tool string, most registry.ToolLimits) (place Place, refusal *policy.Refusal) {
	who := address + "\x00" + tool // no address holds a NUL
	if most.RequestsPerMinute > 0 {
		refusal = l.Admit(who, most.RequestsPerMinute)
	}
	if refusal == nil && most.MaxConcurrent > 0 {
		place, refusal = l.BeginCall(who, most.MaxConcurrent)
	}
	if refusal != nil {
		refusal.Tool = tool
		refusal.Message = fmt.Sprintf("Tool %q: %s", tool, refusal.Message)
	}
	return place, refusal
}

// BeginSession counts one session of the caller.
func (l *Callers) BeginSession(address string, most int) (Place, *policy.Refusal) {
	return l.take(address, "MaxSessions", most, "sessions", func(c *callerLimits) *int { return &c.sessions })
}

// take counts one use under a limit.
func (l *Callers) take(address, name string, limit int, what string, of func(*callerLimits) *int) (Place, *policy.Refusal) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.caller(address, l.now())
	used := of(c)
	if *used >= limit {
		return Place{}, Refuse(name, fmt.Sprintf("More than %d %s. End some and try again.", limit, what))
	}
	*used++
	return Place{l, used}, nil
}

// Refuse is the refusal of what is over a limit.
func Refuse(reason, message string) *policy.Refusal {
	return &policy.Refusal{Kind: policy.RateLimited, Stage: policy.StageLimits, Reason: reason, Message: message}
}
