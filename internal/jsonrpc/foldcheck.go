// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"strconv"
	"sync"
)

// foldCheck goes through arguments and looks in each object for keys that differ by case alone. The keys on its stack are
// folded.
type foldCheck struct {
	data []byte
	keys keyStack
}

var foldChecks = sync.Pool{New: func() any { return new(foldCheck) }}

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

// value looks into the value that begins at pos and returns the index after it. The declared names hold at the top level
// alone and are nil below it. Every byte is read once, however deep it lies.
func (c *foldCheck) value(pos int, declared *Declared) (end int, found *collision) {
	var w walker
	switch {
	case w.openAt(c.data, pos, '{'):
		found = c.object(&w, declared)
	case w.openAt(c.data, pos, '['):
		found = c.array(&w)
	default:
		return skipValue(c.data, pos), nil
	}
	return min(w.pos+1, len(c.data)), found
}

func (c *foldCheck) array(w *walker) (found *collision) {
	n := 0
	for it, ok := w.head(false); ok; it, ok = w.head(false) {
		if w.pos, found = c.value(it.value, nil); found != nil {
			return found.within(strconv.Itoa(n))
		}
		n++
	}
	return nil
}

func (c *foldCheck) object(w *walker, declared *Declared) (found *collision) {
	opened := c.keys.mark()
	for it, ok := w.head(true); ok; it, ok = w.head(true) {
		key := it.name()
		if found = c.add(it.start, key, declared); found != nil {
			return found
		}
		if w.pos, found = c.value(it.value, nil); found != nil {
			return found.within(string(key))
		}
	}
	if first, second, found := c.keys.duplicate(opened); found {
		key := c.asSent(second)
		return (&collision{key: key, other: c.asSent(first)}).within(key)
	}
	c.keys.cut(opened)
	return nil
}

// add takes in one key of the innermost object, unless it is declared.
func (c *foldCheck) add(at int, key []byte, declared *Declared) *collision {
	start := len(c.keys.text)
	c.keys.text = appendFold(c.keys.text, key)
	if declared != nil {
		folded := c.keys.text[start:]
		if _, ok := declared.exact[string(key)]; ok {
			c.keys.text = c.keys.text[:start]
			return nil
		}
		if other, ok := declared.folded[string(folded)]; ok {
			return (&collision{key: string(key), other: other}).within(string(key))
		}
	}
	c.keys.pushText(at, start)
	return nil
}

// asSent returns a key unescaped and not folded.
func (c *foldCheck) asSent(r keyRef) string {
	key, _ := content(c.data, int(r.at))
	return string(unescape(nil, key))
}
