// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"crypto/rand"
	"encoding/base64"
	"maps"
	"slices"
	"sync"
)

// sessions are the open ones by id.
type sessions struct {
	mu       sync.Mutex
	byID     map[string]*session
	draining bool
}

// newSessionID is 192 random bits in visible ASCII (MCP, Session Management): it is all that a caller needs to use the
// session, so it must not be guessed, and a client never chooses it.
func newSessionID() string {
	var id [24]byte
	_, _ = rand.Read(id[:]) // never fails: crypto/rand ends the process instead
	return base64.RawURLEncoding.EncodeToString(id[:])
}

func (s *sessions) find(id string) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byID[id]
}

// add says no while the dispatcher drains.
func (s *sessions) add(one *session) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining {
		return false
	}
	s.byID[one.id] = one
	return true
}

func (s *sessions) remove(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byID, id)
}

func (s *sessions) all() []*session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.byID))
}

func (s *sessions) drain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.draining = true
}

func (s *sessions) closed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.draining
}
