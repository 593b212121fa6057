// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// str reads the string at the position and returns what stands between its quotes, and whether that holds escapes.
func (s *scanner) str() (content []byte, escaped bool, err *SyntaxError) {
	start := s.pos + 1
	for i := start; ; {
		i = skipPlain(s.data, i)
		if i >= len(s.data) {
			return nil, false, s.fail(CauseSyntax, len(s.data), "unexpected end inside a string")
		}
		switch s.data[i] {
		case '"':
			s.pos = i + 1
			return s.data[start:i], escaped, nil
		case '\\':
			n, err := s.escape(i)
			if err != nil {
				return nil, false, err
			}
			i, escaped = i+n, true
		default:
			return nil, false, s.fail(CauseSyntax, i, "a control character inside a string; write it as an escape")
		}
	}
}

// escape checks the escape whose backslash is at i and returns its length; a surrogate pair counts as one escape.
func (s *scanner) escape(i int) (int, *SyntaxError) {
	if i+1 >= len(s.data) {
		return 0, s.fail(CauseSyntax, len(s.data), "unexpected end inside a string")
	}
	switch s.data[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2, nil
	case 'u':
		u, ok := hex4(s.data, i+2)
		if !ok {
			return 0, s.fail(CauseSyntax, i, `\u must be followed by four hexadecimal digits`)
		}
		if !utf16.IsSurrogate(u) {
			return 6, nil
		}
		if low, ok := secondHalf(s.data, i+6); ok && utf16.DecodeRune(u, low) != utf8.RuneError {
			return 12, nil
		}
		return 0, s.fail(CauseSurrogate, i, "an escaped surrogate without its other half is no character")
	}
	return 0, s.fail(CauseSyntax, i, `a backslash must be followed by one of " \ / b f n r t u`)
}

// hex4 returns the value of the four hexadecimal digits at i.
func hex4(data []byte, i int) (rune, bool) {
	if i+4 > len(data) {
		return 0, false
	}
	var r rune
	for _, c := range data[i : i+4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// secondHalf returns the code unit of the \u escape at i.
func secondHalf(data []byte, i int) (rune, bool) {
	if i+6 > len(data) || data[i] != '\\' || data[i+1] != 'u' {
		return 0, false
	}
	return hex4(data, i+2)
}

// skipPlain returns the index of the first quote, backslash or control character from i on, or the length of data. It looks
// at eight bytes at once: x-1 borrows into the top bit of a zero byte, and a false hit lies only above a true one.
func skipPlain(data []byte, i int) int {
	const (
		ones = 0x0101010101010101
		tops = 0x8080808080808080
	)
	for i+8 <= len(data) {
		w := binary.LittleEndian.Uint64(data[i:])
		quote, slash := w^('"'*ones), w^('\\'*ones)
		hit := ((quote-ones)&^quote | (slash-ones)&^slash | (w-' '*ones)&^w) & tops
		if hit != 0 {
			return i + bits.TrailingZeros64(hit)/8
		}
		i += 8
	}
	for ; i < len(data); i++ {
		if c := data[i]; c == '"' || c == '\\' || c < ' ' {
			return i
		}
	}
	return i
}

// unescape appends the characters of a checked string's content to dst.
func unescape(dst, content []byte) []byte {
	for i := 0; i < len(content); {
		j := skipPlain(content, i)
		dst = append(dst, content[i:j]...)
		if i = j; i+1 >= len(content) {
			return dst
		}
		c := content[i+1]
		i += 2
		switch c {
		case 'b':
			c = '\b'
		case 'f':
			c = '\f'
		case 'n':
			c = '\n'
		case 'r':
			c = '\r'
		case 't':
			c = '\t'
		case 'u':
			r, _ := hex4(content, i)
			i += 4
			if utf16.IsSurrogate(r) {
				low, _ := secondHalf(content, i)
				r = utf16.DecodeRune(r, low)
				i += 6
			}
			dst = utf8.AppendRune(dst, r)
			continue
		}
		dst = append(dst, c)
	}
	return dst
}

// String returns the characters of the JSON string raw, and false if raw is no string. The raw value must be part of a
// checked value.
func String(raw []byte) (string, bool) {
	content, ok := stringContent(raw)
	if !ok {
		return "", false
	}
	if skipPlain(content, 0) == len(content) {
		return string(content), true
	}
	return string(unescape(make([]byte, 0, len(content)), content)), true
}

// stringContent returns what stands between the quotes of the JSON string raw.
func stringContent(raw []byte) ([]byte, bool) {
	raw = trim(raw)
	if len(raw) < 2 || raw[0] != '"' {
		return nil, false
	}
	return raw[1 : len(raw)-1], true
}

// equalString reports whether the JSON string raw has the characters s.
func equalString(raw []byte, s string) bool {
	content, ok := stringContent(raw)
	if !ok {
		return false
	}
	return string(content) == s || skipPlain(content, 0) < len(content) && string(unescape(nil, content)) == s
}

// AppendString appends the JSON string with the characters of s, as RFC 8785, section 3.2.2.2, writes it: escaped is what
// RFC 8259 demands and no more, in the short form where there is one. A byte that is no UTF-8 becomes U+FFFD.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				dst = append(append(dst, s[start:i]...), "\ufffd"...)
				start = i + 1
			}
			i += n
			continue
		}
		dst = append(dst, s[start:i]...)
		dst = appendEscape(dst, c)
		i++
		start = i
	}
	return append(append(dst, s[start:]...), '"')
}

// appendEscape appends the escape of a quote, a backslash or a control character.
func appendEscape(dst []byte, c byte) []byte {
	const hex = "0123456789abcdef"
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, `\b`...)
	case '\f':
		return append(dst, `\f`...)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}
