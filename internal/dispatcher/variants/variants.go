// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package variants remembers the definitions that connections of clients list and that of discovery does not: a server may give
// each of its sessions others.
//
// It owns how many of them are kept, and for how long. It decides about no call, opens no connection, and never imports Kubernetes,
// the API or the launcher.
package variants

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/registry"
)

// Lasts is how long a definition is remembered since it was last listed. It is longer than a catalogue can be believed, so that
// what a session goes by is not forgotten, and than a day, so that clients that come once in one change nothing.
const Lasts = 25 * time.Hour

// The bounds of what is kept, beside those that registry.SessionsState has. A server that writes the time into a description has
// another definition in each session: it must not take the room of its other tools.
const (
	maxOfOneTool = 4
	maxBytesEach = 64 << 10
)

// Options of a Memory.
type Options struct {
	// Discovery is the catalogue that discovery read last, nil before it has.
	Discovery func() *upstream.Catalogue
	// Changed is called when State gives something new, but for what was forgotten. It must not block.
	Changed func()
	Now     func() time.Time
}

// Memory is safe for concurrent use.
type Memory struct {
	opts Options

	mu   sync.Mutex
	kept map[key]*entry
	size int
	// left is how often a definition was listed that is not kept, last at leftAt; told is what is told of it.
	left, told int64
	leftAt     time.Time
}

type key struct{ name, digest string }

type entry struct {
	registry.ObservedTool
	listed time.Time
}

func (e *entry) size() int { return len(e.Name) + len(e.Digest) + len(e.Definition) + len(e.Error) }

// New remembers nothing yet.
func New(o Options) *Memory { return &Memory{opts: o, kept: map[key]*entry{}} }

// Listed takes note of what a connection of a client lists. Before discovery has read anything there is nothing to differ from.
func (m *Memory) Listed(cat *upstream.Catalogue) {
	known := m.opts.Discovery()
	if known == nil || known.Digest == cat.Digest {
		return
	}
	if m.note(cat, known) {
		m.opts.Changed()
	}
}

func (m *Memory) note(cat, known *upstream.Catalogue) (changed bool) {
	now := m.opts.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forget(now)
	for i := range cat.Tools {
		t := &cat.Tools[i]
		if lists(known, t.Name, t.Digest) {
			continue
		}
		if e := m.kept[key{t.Name, t.Digest}]; e != nil {
			e.listed = now
			continue
		}
		if m.keep(t, now) {
			changed = true
			continue
		}
		m.left++
		m.leftAt = now
	}
	// The number is told anew when it has doubled: a server that lists others all the time must not change the state all the time.
	if m.left > 0 && m.left >= 2*m.told {
		m.told, changed = m.left, true
	}
	return changed
}

// lists says whether discovery lists a definition. Of a name that it has twice nothing is served anyway.
func lists(c *upstream.Catalogue, name, digest string) bool {
	tool, twice := c.Find(name)
	return twice || tool != nil && tool.Digest == digest
}

// keep remembers a definition where there is room. What came first stays, so that a server with ever new ones changes nothing by
// them; of one tool, a definition that was not listed for half its time gives way.
func (m *Memory) keep(t *upstream.CatalogueTool, now time.Time) bool {
	e := &entry{ObservedTool: registry.ObservedTool{Name: t.Name, Digest: t.Digest, Definition: t.Definition}, listed: now}
	if t.Err != nil {
		e.Error = t.Err.Error()
	}
	if e.size() > maxBytesEach {
		return false
	}
	count, size := len(m.kept), m.size
	oldest := m.crowded(t.Name)
	if oldest != nil {
		if now.Sub(oldest.listed) < Lasts/2 {
			return false
		}
		count, size = count-1, size-oldest.size()
	}
	if count >= registry.MaxSessionTools || size+e.size() > registry.MaxSessionBytes {
		return false
	}
	if oldest != nil {
		m.drop(oldest)
	}
	// They are parts of a whole page.
	e.Name, e.Definition = strings.Clone(e.Name), bytes.Clone(e.Definition)
	m.kept[key{e.Name, e.Digest}] = e
	m.size += e.size()
	return true
}

// crowded is the definition of a tool that was not listed for longest, where there are as many as are kept of one.
func (m *Memory) crowded(name string) *entry {
	var oldest *entry
	n := 0
	for k, e := range m.kept {
		if k.name != name {
			continue
		}
		if n++; oldest == nil || e.listed.Before(oldest.listed) {
			oldest = e
		}
	}
	if n < maxOfOneTool {
		return nil
	}
	return oldest
}

func (m *Memory) drop(e *entry) {
	delete(m.kept, key{e.Name, e.Digest})
	m.size -= e.size()
}

// forget drops what was not listed for too long.
func (m *Memory) forget(now time.Time) {
	for _, e := range m.kept {
		if now.Sub(e.listed) >= Lasts {
			m.drop(e)
		}
	}
	if now.Sub(m.leftAt) >= Lasts {
		m.left, m.told = 0, 0
	}
}

// State is what is remembered as of now. What discovery lists by now is told of there, and is forgotten here.
func (m *Memory) State() registry.SessionsState {
	known, now := m.opts.Discovery(), m.opts.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forget(now)
	s := registry.SessionsState{NotKept: m.told}
	for _, e := range m.kept {
		if known != nil && lists(known, e.Name, e.Digest) {
			m.drop(e)
			continue
		}
		s.Tools = append(s.Tools, e.ObservedTool)
	}
	slices.SortFunc(s.Tools, func(a, b registry.ObservedTool) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Digest, b.Digest))
	})
	return s
}
