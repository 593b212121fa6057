// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package waves

import (
	"context"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// State is how far a server is with the release.
type State string

// States. Settled: nothing is to be done, or awaited. Waiting: for its turn. Upgrading: its new pods are not all available yet. Arrived:
// they are, and it goes on being watched until all others are through: a fault that comes late stops the waves as well.
// Refused: its turn has come, and the API server does not take what the release makes of it, or what its pods must not be without
// is not there. Untold: no pass has got as far as its pods, so that nobody knows what the release makes of them.
const (
	Settled   State = "Settled"
	Waiting   State = "Waiting"
	Upgrading State = "Upgrading"
	Arrived   State = "Arrived"
	Refused   State = "Refused"
	Untold    State = "Untold"
)

// Gate lets servers through, a wave at a time. It is safe for concurrent use.
type Gate struct {
	// Max is how many servers one wave has.
	Max int
	// Servers are all that there are.
	Servers func(context.Context) ([]types.NamespacedName, error)
	// Wake makes a server's reconciler come again, because its turn has come.
	Wake func(types.NamespacedName)

	mu     sync.Mutex
	states map[types.NamespacedName]State
	// count is how many are in a state.
	count map[State]int
	// turn are those whose turn has come and who have not taken it yet.
	turn map[types.NamespacedName]bool
	// unknown are those of which nothing is known since the manager's start.
	unknown map[types.NamespacedName]bool
	// seen says that something has been known of all that there were; told that those that have arrived know that all is over.
	seen, told bool
}

// Turn says whether a server that waits may go.
func (g *Gate) Turn(key types.NamespacedName) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.turn[key]
}

// Over says whether nobody waits or is waited for, as far as all servers have been seen since the manager's start.
func (g *Gate) Over(ctx context.Context) (bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.over(ctx)
}

func (g *Gate) over(ctx context.Context) (bool, error) {
	if g.count[Waiting]+g.count[Upgrading]+g.count[Refused] > 0 || len(g.turn) > 0 {
		return false, nil
	}
	if !g.seen {
		servers, err := g.Servers(ctx)
		if err != nil {
			return false, err
		}
		g.seen = !slices.ContainsFunc(servers, func(key types.NamespacedName) bool { return g.states[key] == "" })
	}
	return g.seen, nil
}

// State is how far a server is, as it was reported last; "" where nothing is known.
func (g *Gate) State(key types.NamespacedName) State {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.states[key]
}

// Report says how far a server is. When that leaves nobody to wait for, the next wave begins.
func (g *Gate) Report(ctx context.Context, key types.NamespacedName, state State) error {
	g.mu.Lock()
	g.set(key, state)
	return g.wake(ctx)
}

// wake unlocks, and lets those come again whose turn has come, or for whom all is over.
func (g *Gate) wake(ctx context.Context) error {
	keys, err := g.next(ctx)
	if err == nil && len(keys) == 0 {
		keys, err = g.arrived(ctx)
	}
	g.mu.Unlock()
	for _, key := range keys {
		g.Wake(key)
	}
	return err
}

// arrived are those that have been watched and need not be any more, each of them once.
func (g *Gate) arrived(ctx context.Context) ([]types.NamespacedName, error) {
	if g.told || g.count[Arrived] == 0 {
		return nil, nil
	}
	if over, err := g.over(ctx); !over || err != nil {
		return nil, err
	}
	g.told = true
	var keys []types.NamespacedName
	for key, state := range g.states {
		if state == Arrived {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

// Refuse is for a server whose new pods the API server does not take, or that lacks what they must not be without. Where its turn has
// come, the wave goes on when it is through; nobody else's turn comes before: what is said of one server may be true of all.
func (g *Gate) Refuse(ctx context.Context, key types.NamespacedName) error {
	if !g.Turn(key) {
		return g.Seen(ctx, key)
	}
	return g.Report(ctx, key, Refused)
}

// Seen is for a server that can't get as far as Report: it is not waited for.
func (g *Gate) Seen(ctx context.Context, key types.NamespacedName) error {
	g.mu.Lock()
	_, known := g.states[key]
	g.mu.Unlock()
	if known {
		return nil
	}
	return g.Report(ctx, key, Untold)
}

// Forget is for a server that is gone.
func (g *Gate) Forget(ctx context.Context, key types.NamespacedName) error {
	g.mu.Lock()
	if state, known := g.states[key]; known {
		g.count[state]--
	}
	delete(g.states, key)
	delete(g.turn, key)
	delete(g.unknown, key)
	return g.wake(ctx)
}

func (g *Gate) set(key types.NamespacedName, state State) {
	if g.states == nil {
		g.states, g.count, g.turn = map[types.NamespacedName]State{}, map[State]int{}, map[types.NamespacedName]bool{}
	}
	if before, known := g.states[key]; known {
		g.count[before]--
	}
	g.states[key] = state
	g.count[state]++
	g.told = g.told && state != Waiting && state != Upgrading && state != Refused
	delete(g.unknown, key)
	if state != Waiting && state != Refused {
		delete(g.turn, key)
	}
}

// next chooses a wave where nobody is on the way. Every server must have been seen since the manager's start: one that was not
// could be on its way. The lists are gone through only when there is something to choose.
func (g *Gate) next(ctx context.Context) ([]types.NamespacedName, error) {
	if g.count[Waiting] == 0 || g.count[Upgrading] > 0 || len(g.turn) > 0 || len(g.unknown) > 0 {
		return nil, nil
	}
	servers, err := g.Servers(ctx)
	if err != nil {
		return nil, err
	}
	g.unknown = map[types.NamespacedName]bool{}
	var waiting []types.NamespacedName
	for _, key := range servers {
		switch state, known := g.states[key]; {
		case !known:
			g.unknown[key] = true
		case state == Waiting:
			waiting = append(waiting, key)
		}
	}
	if len(g.unknown) > 0 {
		return nil, nil
	}
	wave := Next(waiting, g.Max)
	for _, key := range wave {
		g.turn[key] = true
	}
	return wave, nil
}
