// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"bytes"
	"iter"
)

// walker goes through a checked object or array without checking it again. On bytes that were never checked it may stop
// early or give nonsense, but stays within them.
type walker struct {
	data []byte
	pos  int
}

// item is one member or element as it stands in the input.
type item struct {
	key     []byte // content of the key, escapes and all; nil for an element
	start   int    // where the key, or the element, begins
	value   int    // where the value begins
	end     int    // just after the value
	escaped bool   // whether key holds escapes
}

// open enters the array or object that begins with bracket, and reports whether raw is one.
func (w *walker) open(raw []byte, bracket byte) bool {
	return w.openAt(raw, skipSpace(raw, 0), bracket)
}

// openAt does so for the value that begins at pos.
func (w *walker) openAt(data []byte, pos int, bracket byte) bool {
	w.data, w.pos = data, pos
	if pos >= len(data) || data[pos] != bracket {
		return false
	}
	w.pos++
	return true
}

// next returns the next member (keyed) or element, and false after the last.
func (w *walker) next(keyed bool) (it item, ok bool) {
	if it, ok = w.head(keyed); ok {
		it.end = skipValue(w.data, it.value)
		w.pos = it.end
	}
	return it, ok
}

// head is next without the value: who calls it reads the value and sets the position after it.
func (w *walker) head(keyed bool) (it item, ok bool) {
	i := skipSpace(w.data, w.pos)
	if i < len(w.data) && w.data[i] == ',' {
		i = skipSpace(w.data, i+1)
	}
	if w.pos = i; i >= len(w.data) || w.data[i] == '}' || w.data[i] == ']' {
		return item{}, false
	}
	it.start = i
	if keyed {
		it.key, i = content(w.data, i)
		it.escaped = skipPlain(it.key, 0) < len(it.key)
		i = skipSpace(w.data, i)
		i = skipSpace(w.data, min(i+1, len(w.data)))
	}
	it.value = i
	return it, true
}

func (i item) is(key string) bool {
	if i.escaped {
		return string(unescape(nil, i.key)) == key
	}
	return string(i.key) == key
}

// name returns the unescaped key.
func (i item) name() []byte {
	if i.escaped {
		return unescape(nil, i.key)
	}
	return i.key
}

// Members yields the members of the object obj in their order: the unescaped key and the value's bytes. It yields nothing
// if obj is no object. The object must be part of a checked value.
func Members(obj []byte) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		var w walker
		if !w.open(obj, '{') {
			return
		}
		for it, ok := w.next(true); ok; it, ok = w.next(true) {
			if !yield(string(it.name()), obj[it.value:it.end]) {
				return
			}
		}
	}
}

// Member returns the bytes of the value of one member of the object obj, and false if obj is no object or has no such
// member. The object must be part of a checked value.
func Member(obj []byte, key string) ([]byte, bool) {
	var w walker
	if !w.open(obj, '{') {
		return nil, false
	}
	for it, ok := w.next(true); ok; it, ok = w.next(true) {
		if it.is(key) {
			return obj[it.value:it.end], true
		}
	}
	return nil, false
}

// Pick finds several members of the object obj in one go: values gets the bytes of each of keys, nil where there is no such
// member or obj is no object. It must be as long as keys. The object must be part of a checked value.
func Pick(obj []byte, keys []string, values [][]byte) {
	clear(values)
	var w walker
	if !w.open(obj, '{') {
		return
	}
	for it, ok := w.next(true); ok; it, ok = w.next(true) {
		for i, key := range keys {
			if it.is(key) {
				values[i] = obj[it.value:it.end]
				break
			}
		}
	}
}

// Elements yields the bytes of each element of the array arr. It yields nothing if arr is no array. The array must be part
// of a checked value.
func Elements(arr []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		var w walker
		if !w.open(arr, '[') {
			return
		}
		for it, ok := w.next(false); ok; it, ok = w.next(false) {
			if !yield(arr[it.value:it.end]) {
				return
			}
		}
	}
}

// Bool returns the value of the JSON boolean raw, and false for ok if raw is none.
func Bool(raw []byte) (value, ok bool) {
	switch string(trim(raw)) {
	case "true":
		return true, true
	case "false":
		return false, true
	}
	return false, false
}

// IsNull reports whether raw is the JSON literal null.
func IsNull(raw []byte) bool { return string(trim(raw)) == "null" }

// IsObject reports whether the checked value raw is an object.
func IsObject(raw []byte) bool { return firstByte(raw) == '{' }

// IsArray reports whether the checked value raw is an array.
func IsArray(raw []byte) bool { return firstByte(raw) == '[' }

// IsString reports whether the checked value raw is a string.
func IsString(raw []byte) bool { return firstByte(raw) == '"' }

func firstByte(raw []byte) byte {
	if i := skipSpace(raw, 0); i < len(raw) {
		return raw[i]
	}
	return 0
}

func isSpace(c byte) bool {
	return c == ' ' || c == '\n' || c == '\r' || c == '\t'
}

func skipSpace(data []byte, i int) int {
	for i < len(data) && isSpace(data[i]) {
		i++
	}
	return i
}

// trim returns raw without the white space around it.
func trim(raw []byte) []byte {
	raw = raw[skipSpace(raw, 0):]
	for len(raw) > 0 && isSpace(raw[len(raw)-1]) {
		raw = raw[:len(raw)-1]
	}
	return raw
}

// content returns what stands between the quotes of the string that begins at i, and the index after it.
func content(data []byte, i int) ([]byte, int) {
	end := skipString(data, i)
	return data[i+1 : max(i+1, end-1)], end
}

// skipString returns the index after the string that begins at i.
//
// It looks for the quote alone, which the machine does many bytes at once, and at the backslashes before it: a quote behind an
// odd number of them is escaped.
func skipString(data []byte, i int) int {
	for start := i + 1; start < len(data); {
		quote := bytes.IndexByte(data[start:], '"')
		if quote < 0 {
			break
		}
		end := start + quote
		slashes := end
		for slashes > i+1 && data[slashes-1] == '\\' {
			slashes--
		}
		if start = end + 1; (end-slashes)%2 == 0 {
			return start
		}
	}
	return len(data)
}

// skipValue returns the index after the value that begins at i.
func skipValue(data []byte, i int) int {
	depth := 0
	for i < len(data) {
		switch data[i] {
		case '"':
			i = skipString(data, i)
		case '{', '[':
			depth++
			i++
			continue
		case '}', ']':
			depth--
			i++
		case ',', ':', ' ', '\n', '\r', '\t':
			i++
			continue
		default:
			i = skipScalar(data, i)
		}
		if depth <= 0 {
			return i
		}
	}
	return len(data)
}

// skipScalar returns the index after the number or literal that begins at i.
func skipScalar(data []byte, i int) int {
	for ; i < len(data); i++ {
		switch data[i] {
		case ',', ':', '}', ']', ' ', '\n', '\r', '\t':
			return i
		}
	}
	return i
}
