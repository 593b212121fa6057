// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/registry"
)

// How often in a row a server may fail to start before it is held back, and for how long then, at first and at most. What
// starts a process costs more than finding that nobody listens, and is seldom mended within a second.
const (
	freeStarts   = 3
	firstHold    = 200 * time.Millisecond
	mostHold     = 10 * time.Second
	mostListener = time.Second
)

// setbacks keep callers from starting again and again what ends while it starts: each of them would cost a process. Deaths
// after a good start do not count: one caller who makes the server of a session crash must not hold up the others.
type setbacks struct {
	mu    sync.Mutex
	count int // failures in a row
	last  *upstream.Error
	until time.Time
}

// held is the failure to report instead of another try, nil where one may be made.
func (s *setbacks) held(now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	wait := s.until.Sub(now)
	if wait <= 0 {
		return nil
	}
	e := *s.last
	e.Message = fmt.Sprintf("%s It has failed %d times in a row, and is tried again in %s.", e.Message, s.count, wait.Round(100*time.Millisecond))
	return &e
}

// failed notes a start that failed. One that began before a hold does not lengthen it, and neither does a caller who left.
func (s *setbacks) failed(now time.Time, err error) {
	var e *upstream.Error
	if !errors.As(err, &e) || errors.Is(err, upstream.ErrClosed) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Before(s.until) {
		return
	}
	s.count++
	s.last = e
	if over := s.count - freeStarts; over > 0 {
		s.until = now.Add(min(firstHold<<min(over-1, 8), mostFor(e.Reason)))
	}
}

func mostFor(reason registry.FailureReason) time.Duration {
	switch reason {
	case registry.FailExited, registry.FailNotMCP, registry.FailTimeout, registry.FailProtocol, registry.FailCatalogue:
		return mostHold
	case registry.FailStart, registry.FailUnreachable, registry.FailUnauthorized:
	}
	return mostListener
}

// worked forgets them all.
func (s *setbacks) worked() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count, s.last, s.until = 0, nil, time.Time{}
}
