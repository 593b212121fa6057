// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import "sync"

// slots count the connections that are open or being opened. How many there may be is asked each time: a policy may change it.
type slots struct {
	most func() int

	mu    sync.Mutex
	taken int
	freed chan struct{} // closed and renewed when one is given back
}

func newSlots(most func() int) *slots { return &slots{most: most, freed: make(chan struct{})} }

// take takes a slot, if there is one.
func (s *slots) take() bool {
	most := s.most()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken >= most {
		return false
	}
	s.taken++
	return true
}

// free gives a slot back.
func (s *slots) free() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken--
	close(s.freed)
	s.freed = make(chan struct{})
}

// wait is closed when a slot is given back. Ask for it before take, so that none is missed.
func (s *slots) wait() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.freed
}
