// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"sync"
	"unicode/utf8"
)

// The limits that stand where Limits has zero.
const (
	DefaultMaxBytes = 16 << 20 // bytes of one message
	DefaultMaxDepth = 128      // open arrays and objects; the deepest tool list seen in the field has 21
)

// Limits bounds what Check and Parse accept. The zero value means the defaults.
type Limits struct {
	MaxBytes    int // length of the input in bytes; 0 means DefaultMaxBytes, and 2 GiB is the most there can be
	MaxDepth    int // arrays and objects open at once, the outermost counted; 0 means DefaultMaxDepth
	MaxDigits   int // digits of one number before its exponent; 0 means no bound
	MaxExponent int // magnitude of one number's written exponent; 0 means no bound
}

func (l Limits) withDefaults() Limits {
	if l.MaxBytes == 0 {
		l.MaxBytes = DefaultMaxBytes
	}
	l.MaxBytes = min(l.MaxBytes, math.MaxInt32) // keyRef has 32 bits
	if l.MaxDepth == 0 {
		l.MaxDepth = DefaultMaxDepth
	}
	return l
}

// Check reports whether data is exactly one strict JSON value within lim, with optional white space around it. The error
// is a *SyntaxError. Numbers of any size pass unless lim bounds them: a message is forwarded, not computed with.
func Check(data []byte, lim Limits) error {
	s := acquireScanner(data, lim)
	defer s.release()
	if err := s.document(plain); err != nil {
		return err
	}
	return nil
}

// role says which object of a message is being read, so that Parse learns of its members.
type role uint8

const (
	plain role = iota // any value that only has to be strict
	envelope
	params
	meta
	failure // the error object of a response
	roles
)

// child returns the role of the member key of an object in role r.
func (r role) child(key []byte) role {
	switch {
	case r == envelope && string(key) == "params":
		return params
	case r == envelope && string(key) == "error":
		return failure
	case r == params && string(key) == "_meta":
		return meta
	}
	return plain
}

// scanner reads one input once.
type scanner struct {
	data  []byte
	pos   int
	depth int
	lim   Limits
	keys  keyStack
	notes [roles]notes // of the objects that have a role
}

var scanners = sync.Pool{New: func() any { return new(scanner) }}

func acquireScanner(data []byte, lim Limits) *scanner {
	s := scanners.Get().(*scanner)
	s.data, s.pos, s.depth, s.lim = data, 0, 0, lim.withDefaults()
	s.keys.reset(data)
	return s
}

// release gives the scanner back; the pool must not keep a message alive.
func (s *scanner) release() {
	s.data = nil
	s.keys.reset(nil)
	for r := range s.notes {
		s.notes[r].reset()
	}
	scanners.Put(s)
}

// document reads the whole input as one value in role r.
func (s *scanner) document(r role) *SyntaxError {
	if len(s.data) > s.lim.MaxBytes {
		return s.fail(CauseSize, s.lim.MaxBytes, fmt.Sprintf("%d bytes are too large; the limit is %d", len(s.data), s.lim.MaxBytes))
	}
	if bytes.HasPrefix(s.data, []byte("\xef\xbb\xbf")) {
		return s.fail(CauseEncoding, 0, "a byte order mark is not part of JSON; send UTF-8 without it")
	}
	if !utf8.Valid(s.data) {
		return s.invalidUTF8().finish()
	}
	if err := s.value(r); err != nil {
		return err.finish()
	}
	if s.space(); s.pos < len(s.data) {
		return s.fail(CauseTrailing, s.pos, "data after the end of the value; send exactly one value")
	}
	return nil
}

// invalidUTF8 finds the first byte that is no UTF-8, and by reading up to there the path of the value that holds it.
func (s *scanner) invalidUTF8() *SyntaxError {
	at := 0
	for at < len(s.data) {
		r, n := utf8.DecodeRune(s.data[at:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		at += n
	}
	s.data = s.data[:at]
	err := s.value(plain)
	if err == nil {
		err = &SyntaxError{}
	} else if err.Offset < at {
		return err
	}
	err.Cause, err.Offset, err.Reason = CauseEncoding, at, "not valid UTF-8"
	return err
}

func (s *scanner) fail(c Cause, offset int, reason string) *SyntaxError {
	return &SyntaxError{Cause: c, Offset: offset, Reason: reason}
}

// unexpected reports the byte at the position, where want should stand.
func (s *scanner) unexpected(want string) *SyntaxError {
	if s.pos >= len(s.data) {
		return s.fail(CauseSyntax, len(s.data), "unexpected end, want "+want)
	}
	r, _ := utf8.DecodeRune(s.data[s.pos:])
	return s.fail(CauseSyntax, s.pos, "unexpected "+strconv.QuoteRune(r)+", want "+want)
}

func (s *scanner) space() {
	if s.pos < len(s.data) && s.data[s.pos] <= ' ' {
		s.pos = skipSpace(s.data, s.pos)
	}
}

// peek returns the byte at the position, 0 at the end: NUL is nowhere right outside a string.
func (s *scanner) peek() byte {
	if s.pos < len(s.data) {
		return s.data[s.pos]
	}
	return 0
}

// value reads one value in role r, with white space before it.
func (s *scanner) value(r role) *SyntaxError {
	s.space()
	switch s.peek() {
	case '"':
		_, _, err := s.str()
		return err
	case '{', '[':
		return s.nested(r)
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return s.number()
	case 't':
		return s.literal("true")
	case 'f':
		return s.literal("false")
	case 'n':
		return s.literal("null")
	}
	return s.unexpected("a value")
}

func (s *scanner) literal(word string) *SyntaxError {
	if !bytes.HasPrefix(s.data[s.pos:], []byte(word)) {
		return s.unexpected("true, false or null")
	}
	s.pos += len(word)
	return nil
}

// nested reads an array or an object, whose opening bracket is at the position.
func (s *scanner) nested(r role) *SyntaxError {
	if s.depth++; s.depth > s.lim.MaxDepth {
		return s.fail(CauseDepth, s.pos, fmt.Sprintf("arrays and objects are nested too deep; the limit is %d", s.lim.MaxDepth))
	}
	var err *SyntaxError
	if s.data[s.pos] == '[' {
		err = s.array()
	} else {
		err = s.object(r)
	}
	s.depth--
	return err
}

func (s *scanner) array() *SyntaxError {
	s.pos++
	if s.space(); s.peek() == ']' {
		s.pos++
		return nil
	}
	for n := 0; ; n++ {
		if err := s.value(plain); err != nil {
			return err.within(strconv.Itoa(n))
		}
		s.space()
		switch s.peek() {
		case ',':
			s.pos++
		case ']':
			s.pos++
			return nil
		default:
			return s.unexpected("',' or ']'")
		}
	}
}

// object reads an object. While it is open its keys lie on top of s.keys.
func (s *scanner) object(r role) *SyntaxError {
	opened := s.keys.mark()
	s.pos++
	if s.space(); s.peek() == '}' {
		s.pos++
		return nil
	}
	for {
		if err := s.member(r); err != nil {
			return err
		}
		s.space()
		switch s.peek() {
		case ',':
			s.pos++
			s.space()
		case '}':
			s.pos++
			if _, again, found := s.keys.duplicate(opened); found {
				return s.duplicateKey(again)
			}
			s.keys.cut(opened)
			return nil
		default:
			return s.unexpected("',' or '}'")
		}
	}
}

func (s *scanner) duplicateKey(again keyRef) *SyntaxError {
	err := s.fail(CauseDuplicateKey, int(again.at), "the key stands twice in one object; readers differ in which one they take")
	return err.within(string(s.keys.key(again)))
}

// member reads one key, its colon and its value.
func (s *scanner) member(r role) *SyntaxError {
	key, err := s.key()
	if err != nil {
		return err
	}
	if s.space(); s.peek() != ':' {
		return s.unexpected("':'").within(string(key))
	}
	s.pos++
	s.space()
	start := s.pos
	if err := s.value(r.child(key)); err != nil {
		return err.within(string(key))
	}
	if r != plain {
		s.notes[r].add(r, key, s.data[start:s.pos])
	}
	return nil
}

// key reads the key at the position, pushes it, and returns its characters.
func (s *scanner) key() ([]byte, *SyntaxError) {
	at := s.pos
	if s.peek() != '"' {
		return nil, s.unexpected("a key in double quotes")
	}
	content, escaped, err := s.str()
	if err != nil {
		return nil, err
	}
	if !escaped {
		s.keys.push(at, at+1, s.pos-1)
		return content, nil
	}
	start := len(s.keys.text)
	s.keys.text = unescape(s.keys.text, content)
	s.keys.pushText(at, start)
	key := s.keys.text[start:]
	if bytes.IndexByte(key, 0) >= 0 {
		return nil, s.fail(CauseNULKey, at, "a key with U+0000 ends early for some readers")
	}
	return key, nil
}
