// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package limits

import "sync"

// Flight counts requests that are under way. The zero value is ready.
type Flight struct {
	mu      sync.Mutex
	count   int
	begun   uint64
	landed  chan struct{}
	closing bool
}

// Begin counts one request, and says no once Close has closed the field.
func (f *Flight) Begin() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closing && f.count == 0 {
		return false
	}
	f.count++
	f.begun++
	return true
}

// End is the other half of Begin.
func (f *Flight) End() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.count--; f.count == 0 && f.closing {
		close(f.landed)
	}
}

// Close lets requests begin until none is in flight, and none after that. The channel closes at that moment. So whoever
// stops the server then cuts nothing off.
func (f *Flight) Close() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closing {
		f.closing = true
		f.landed = make(chan struct{})
		if f.count == 0 {
			close(f.landed)
		}
	}
	return f.landed
}

// Begun is Count, and how many have ever begun.
func (f *Flight) Begun() (inFlight int, begun uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.count, f.begun
}

// Count is how many are in flight.
func (f *Flight) Count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.count
}
