// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"fmt"
	"strconv"
)

// number reads the number at the position (RFC 8259, section 6) and holds it to the limits.
func (s *scanner) number() *SyntaxError {
	start := s.pos
	if s.peek() == '-' {
		s.pos++
	}
	digits := 1
	if s.peek() == '0' {
		s.pos++
	} else if digits = s.digits(); digits == 0 {
		return s.unexpected("a digit")
	}
	if s.peek() == '.' {
		s.pos++
		n := s.digits()
		if n == 0 {
			return s.unexpected("a digit after the decimal point")
		}
		digits += n
	}
	if s.lim.MaxDigits > 0 && digits > s.lim.MaxDigits {
		return s.fail(CauseNumber, start, fmt.Sprintf("a number of %d digits; the limit is %d", digits, s.lim.MaxDigits))
	}
	if c := s.peek(); c == 'e' || c == 'E' {
		return s.exponent()
	}
	return nil
}

func (s *scanner) exponent() *SyntaxError {
	s.pos++
	if c := s.peek(); c == '+' || c == '-' {
		s.pos++
	}
	start := s.pos
	if s.digits() == 0 {
		return s.unexpected("a digit in the exponent")
	}
	if s.lim.MaxExponent == 0 {
		return nil
	}
	n, err := strconv.ParseUint(string(s.data[start:s.pos]), 10, 63)
	if err != nil || n > uint64(s.lim.MaxExponent) {
		return s.fail(CauseNumber, start, fmt.Sprintf("an exponent beyond the limit of %d", s.lim.MaxExponent))
	}
	return nil
}

// digits reads digits and returns how many there were.
func (s *scanner) digits() int {
	start := s.pos
	for s.pos < len(s.data) && '0' <= s.data[s.pos] && s.data[s.pos] <= '9' {
		s.pos++
	}
	return s.pos - start
}

// isInteger reports whether the checked value raw is a number written without fraction and exponent.
func isInteger(raw []byte) bool {
	if len(raw) > 0 && raw[0] == '-' {
		raw = raw[1:]
	}
	for _, c := range raw {
		if c < '0' || '9' < c {
			return false
		}
	}
	return len(raw) > 0
}

// Int returns the value of the JSON number raw, and false if raw is no number, is written with a fraction or an exponent,
// or does not fit int64. The raw value must be part of a checked value.
func Int(raw []byte) (int64, bool) {
	raw = trim(raw)
	if !isInteger(raw) {
		return 0, false
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	return n, err == nil
}
