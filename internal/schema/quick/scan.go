// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package quick

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const (
	// maxDepth bounds nesting, of the instance and of references. It lies below what the validator takes.
	maxDepth = 32
	// maxNumber bounds a number's characters: as many as surely fit int64.
	maxNumber = 18
	// rereads is how often an instance may be read as a whole: branches read a value again.
	rereads = 8
)

// Check is a schema that knows what it surely takes. It is immutable and safe for concurrent use.
type Check struct{ root *node }

// New prepares a compiled schema.
func New(s *jsonschema.Schema) *Check { return &Check{maker{}.node(s)} }

// Accepts says whether the instance surely fits the schema. The instance must be one strict JSON value. A no says nothing.
func (c *Check) Accepts(instance []byte) bool {
	s := scan{data: instance, left: rereads * (len(instance) + 16)}
	s.space()
	if !s.value(c.root, 0) {
		return false
	}
	s.space()
	return s.pos == len(instance)
}

// scan reads one instance. On what is not strict JSON it may say anything, but ends and stays within the bytes.
type scan struct {
	data []byte
	pos  int
	left int // bytes that may still be read, and values that may still be looked at
}

func (s *scan) space() {
	start := s.pos
	for s.pos < len(s.data) && (s.data[s.pos] == ' ' || s.data[s.pos] == '\n' || s.data[s.pos] == '\r' || s.data[s.pos] == '\t') {
		s.pos++
	}
	s.left -= s.pos - start
}

// peek is the byte at the position, 0 at the end.
func (s *scan) peek() byte {
	if s.pos < len(s.data) {
		return s.data[s.pos]
	}
	return 0
}

// next consumes c, with white space before it, if it comes next.
func (s *scan) next(c byte) bool {
	s.space()
	if s.peek() != c {
		return false
	}
	s.pos++
	return true
}

// value reads the value at the position, and says whether the node surely takes it. The position is behind it then.
func (s *scan) value(n *node, depth int) bool {
	// However many branches a union has that contains itself, no more are gone into than there is left.
	if s.left--; depth > maxDepth || s.left <= 0 {
		return false
	}
	if n == nil {
		n = anything
	}
	if n.unknown {
		return false
	}
	start := s.pos
	for _, sub := range n.all {
		if s.pos = start; !s.value(sub, depth+1) {
			return false
		}
	}
	if n.some != nil && !s.oneOf(n.some, start, depth+1) {
		return false
	}
	s.pos = start
	return s.own(n, depth) && s.left > 0
}

// anything is what a nil node means.
var anything = &node{types: anyType, maxLength: -1, maxItems: -1, maxProperties: -1}

func (s *scan) oneOf(nodes []*node, start, depth int) bool {
	for _, sub := range nodes {
		if s.pos = start; s.value(sub, depth) {
			return true
		}
	}
	return false
}

// own holds the value to the node's own keywords.
func (s *scan) own(n *node, depth int) bool {
	switch s.peek() {
	case '{':
		return n.types&object != 0 && s.object(n, depth)
	case '[':
		return n.types&array != 0 && s.array(n, depth)
	case '"':
		return n.types&text != 0 && s.text(n)
	case 't':
		return n.types&boolean != 0 && s.word("true")
	case 'f':
		return n.types&boolean != 0 && s.word("false")
	case 'n':
		return n.types&null != 0 && s.word("null")
	}
	return n.types&(number|integer) != 0 && s.number(n)
}

func (s *scan) word(w string) bool {
	if !bytes.HasPrefix(s.data[s.pos:], []byte(w)) {
		return false
	}
	s.pos += len(w)
	return true
}

// number takes whole numbers, and others where only their type counts. (1.0 is an integer, but who writes that may wait.)
func (s *scan) number(n *node) bool {
	start := s.pos
	if s.peek() == '-' {
		s.pos++
	}
	if s.digits() == 0 {
		return false
	}
	if c := s.peek(); c == '.' || c == 'e' || c == 'E' {
		return n.types&number != 0 && !n.bounded && s.fraction() && s.pos-start <= maxNumber
	}
	if s.pos-start > maxNumber {
		return false
	}
	if !n.bounded {
		return true
	}
	value, err := strconv.ParseInt(string(s.data[start:s.pos]), 10, 64)
	return err == nil && n.least <= value && value <= n.greatest
}

// fraction takes what may follow a number's whole digits, but for an exponent.
func (s *scan) fraction() bool {
	if s.peek() != '.' {
		return false
	}
	s.pos++
	return s.digits() > 0 && s.peek() != 'e' && s.peek() != 'E'
}

func (s *scan) digits() int {
	start := s.pos
	for s.pos < len(s.data) && '0' <= s.data[s.pos] && s.data[s.pos] <= '9' {
		s.pos++
	}
	s.left -= s.pos - start
	return s.pos - start
}

// quoted reads a string and gives what stands between its quotes; plain says that there are no escapes in it.
func (s *scan) quoted() (content []byte, plain, ok bool) {
	start := s.pos + 1
	plain = true
	for i := start; i < len(s.data); {
		end := bytes.IndexByte(s.data[i:], '"')
		if end < 0 {
			return nil, false, false
		}
		slash := bytes.IndexByte(s.data[i:i+end], '\\')
		if slash < 0 {
			s.pos = i + end + 1
			s.left -= s.pos - start
			return s.data[start : i+end], plain, true
		}
		plain = false
		i += slash + 2
	}
	return nil, false, false
}

func (s *scan) text(n *node) bool {
	content, plain, ok := s.quoted()
	if !ok || !plain && (n.values != nil || n.pattern != nil || n.minLength > 1) {
		return false
	}
	if !n.fits(content, plain) {
		return false
	}
	if n.values != nil && !n.values[string(content)] {
		return false
	}
	return n.pattern == nil || n.pattern.MatchString(string(content))
}

// fits holds a string to its lengths. A character takes one byte or more, also where it is escaped, so that most strings need
// no counting.
func (n *node) fits(content []byte, plain bool) bool {
	if len(content) < n.minLength || n.minLength > 1 && utf8.RuneCount(content) < n.minLength {
		return false
	}
	return n.maxLength < 0 || len(content) <= n.maxLength || plain && utf8.RuneCount(content) <= n.maxLength
}

func (s *scan) array(n *node, depth int) bool {
	s.pos++
	count := 0
	if s.next(']') {
		return count >= n.minItems
	}
	for {
		if s.space(); !s.value(n.items, depth+1) {
			return false
		}
		count++
		if s.next(']') {
			return count >= n.minItems && (n.maxItems < 0 || count <= n.maxItems)
		}
		if !s.next(',') {
			return false
		}
	}
}

func (s *scan) object(n *node, depth int) bool {
	s.pos++
	count, seen := 0, uint64(0)
	for closed := s.next('}'); !closed; {
		if s.space(); s.peek() != '"' {
			return false
		}
		key, plain, ok := s.quoted()
		if !ok || !plain || !s.next(':') {
			return false
		}
		m, named := n.members[string(key)]
		if !named {
			if n.closed {
				return false
			}
			m.node = n.others
		}
		seen |= m.bit
		if s.space(); !s.value(m.node, depth+1) {
			return false
		}
		count++
		if closed = s.next('}'); !closed && !s.next(',') {
			return false
		}
	}
	return seen&n.required == n.required && count >= n.minProperties && (n.maxProperties < 0 || count <= n.maxProperties)
}
