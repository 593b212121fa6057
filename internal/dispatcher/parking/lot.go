// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package parking

import (
	"sync"
	"time"
)

// Lot holds what waits between rounds, bounded in number and time. It is safe for concurrent use.
type Lot[T any] struct {
	max     int
	abandon func(T)

	mu     sync.Mutex
	last   uint64
	spots  map[uint64]spot[T]
	closed bool
	ending sync.WaitGroup // abandons under way
}

type spot[T any] struct {
	value T
	timer *time.Timer
}

// NewLot gives a lot of max places. abandon is called for each value that nobody takes in time, and at Close.
func NewLot[T any](max int, abandon func(T)) *Lot[T] {
	return &Lot[T]{max: max, abandon: abandon, spots: map[uint64]spot[T]{}}
}

// Park keeps a value for ttl and names it; 0 says that there is no place.
func (l *Lot[T]) Park(value T, ttl time.Duration) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || len(l.spots) >= l.max {
		return 0
	}
	l.last++
	id := l.last
	l.spots[id] = spot[T]{value, time.AfterFunc(ttl, func() { l.expire(id) })}
	return id
}

// Take gives a value back, once.
func (l *Lot[T]) Take(id uint64) (T, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s, ok := l.spots[id]
	if ok {
		s.timer.Stop()
		delete(l.spots, id)
	}
	return s.value, ok
}

func (l *Lot[T]) expire(id uint64) {
	l.mu.Lock()
	s, ok := l.spots[id]
	if ok {
		delete(l.spots, id)
		l.ending.Add(1)
	}
	l.mu.Unlock()
	if ok {
		defer l.ending.Done()
		l.abandon(s.value)
	}
}

// Count is how many values wait.
func (l *Lot[T]) Count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.spots)
}

// Close abandons everything, takes nothing more, and waits until it is done. It may be called more than once.
func (l *Lot[T]) Close() {
	l.mu.Lock()
	l.closed = true
	spots := l.spots
	l.spots = map[uint64]spot[T]{}
	l.ending.Add(len(spots))
	l.mu.Unlock()
	for _, s := range spots {
		s.timer.Stop()
		go func() {
			defer l.ending.Done()
			l.abandon(s.value)
		}()
	}
	l.ending.Wait()
}
