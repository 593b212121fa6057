// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"errors"
	"strings"
)

// Pair are two specs that differ in one leaf alone.
type Pair struct {
	Leaf string
	// Base is the name of the spec that both were made of.
	Base          string
	With, Without Object
}

// Pairs are those of a leaf that the API server takes, at most as many as asked for: with and without it first, where it may
// be left out, then with one value and with another. Without any, the error is what the API server said last.
func (l Leaf) Pairs(most int, try func(kind string, spec Object) error) ([]Pair, error) {
	var out, others []Pair
	var last error
	for _, base := range []string{"stdio", "http", "remote", "tool", "cel", "jsonSchema"} {
		if bases[l.Kind][base] == nil {
			continue
		}
		for _, context := range l.around() {
			var taken []Object
			for _, fragment := range l.fragments {
				with := Merge(Base(l.Kind, base), deep(clone(context), fragment).(Object))
				if err := try(l.Kind, with); err != nil {
					last = err
					continue
				}
				if without, removed := l.without(with); removed && try(l.Kind, without) == nil {
					out = append(out, Pair{l.name(), base, with, without})
				}
				for _, other := range taken {
					others = append(others, Pair{l.name(), base, with, other})
				}
				taken = append(taken, with)
			}
			if len(out) >= most {
				return out[:most], nil
			}
		}
	}
	out = append(out, others...)
	if len(out) == 0 {
		return nil, errors.Join(errors.New("no two specs differ in it alone"), last)
	}
	return out[:min(most, len(out))], nil
}

func (l Leaf) name() string { return l.Kind + l.Path }

// without takes the leaf out of a copy of a spec; false where it is not in there.
func (l Leaf) without(spec Object) (Object, bool) {
	out := clone(spec).(Object)
	return out, remove(out, strings.Split(strings.TrimPrefix(l.Path, "."), "."))
}

// remove takes out what is at the end of a path, a list or a map whole, in every item on the way.
func remove(value any, path []string) bool {
	o, ok := value.(Object)
	if !ok {
		return false
	}
	key := strings.TrimRight(path[0], "[]{}")
	child, there := o[key]
	switch {
	case !there:
		return false
	case len(path) == 1:
		delete(o, key)
		return true
	}
	removed := false
	for _, below := range items(child, strings.Count(path[0], "[]")+strings.Count(path[0], "{}")) {
		removed = remove(below, path[1:]) || removed
	}
	return removed
}

// items are the values at so many lists and maps below one.
func items(value any, depth int) []any {
	if depth == 0 {
		return []any{value}
	}
	var out []any
	switch v := value.(type) {
	case []any:
		for _, child := range v {
			out = append(out, items(child, depth-1)...)
		}
	case Object:
		for _, child := range v {
			out = append(out, items(child, depth-1)...)
		}
	}
	return out
}

// around are the contexts to try for a leaf, none first.
func (l Leaf) around() []Object {
	out := []Object{{}}
	for _, c := range contexts {
		if strings.Contains(l.Path, c.part) {
			out = append(out, c.context)
		}
	}
	return out
}
