// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"strconv"
	"sync"
)

// foldCheck goes through arguments and looks in each object for keys that differ by case alone. The key of each of its
// members is the folded key, the raw value is the key as sent.
type foldCheck struct {
	open []member
	keys keySet
	text []byte // the folded keys
}

type foldCheckPool struct{ sync.Pool }

var foldChecks = foldCheckPool{sync.Pool{New: func() any { return new(foldCheck) }}}

func (p *foldCheckPool) get() *foldCheck { return p.Get().(*foldCheck) }

func (p *foldCheckPool) put(c *foldCheck) {
	clear(c.open)
	if cap(c.open) > maxPooledMembers || cap(c.text) > 64*maxPooledMembers {
		*c = foldCheck{}
	}
	c.open, c.text = c.open[:0], c.text[:0]
	p.Put(c)
}

// collision is a CollisionError whose path is still being built, innermost token first.
type collision struct {
	key, other string
	tokens     []string
}

func (e *collision) within(token string) *collision {
	e.tokens = append(e.tokens, token)
	return e
}

func (e *collision) finish() *CollisionError {
	return &CollisionError{Path: pointer(e.tokens), Key: e.key, Other: e.other}
}

// value looks into an object or an array. The declared names hold at the top level alone and are nil below it.
func (c *foldCheck) value(raw []byte, declared *Declared) *collision {
	var w walker
	switch {
	case w.open(raw, '{'):
		return c.object(&w, declared)
	case w.open(raw, '['):
		n := 0
		for it, ok := w.next(false); ok; it, ok = w.next(false) {
			if err := c.value(raw[it.value:it.end], nil); err != nil {
				return err.within(strconv.Itoa(n))
			}
			n++
		}
	}
	return nil
}

func (c *foldCheck) object(w *walker, declared *Declared) *collision {
	base := len(c.open)
	for it, ok := w.next(true); ok; it, ok = w.next(true) {
		key := it.name()
		if err := c.add(key, declared); err != nil {
			return err
		}
		if err := c.value(w.data[it.value:it.end], nil); err != nil {
			return err.within(string(key))
		}
	}
	members := c.open[base:]
	if first, second, found := c.keys.duplicate(members); found {
		key, other := string(members[second].raw), string(members[first].raw)
		return (&collision{key: key, other: other}).within(key)
	}
	clear(members)
	c.open = c.open[:base]
	return nil
}

// add takes in one key of the innermost object, unless it is declared.
func (c *foldCheck) add(key []byte, declared *Declared) *collision {
	start := len(c.text)
	c.text = appendFold(c.text, key)
	folded := c.text[start:len(c.text):len(c.text)]
	if declared != nil {
		if _, ok := declared.exact[string(key)]; ok {
			c.text = c.text[:start]
			return nil
		}
		if other, ok := declared.folded[string(folded)]; ok {
			return (&collision{key: string(key), other: other}).within(string(key))
		}
	}
	c.open = append(c.open, member{key: folded, raw: key})
	return nil
}
