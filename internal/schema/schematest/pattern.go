// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package schematest

import (
	"regexp/syntax"
	"strings"
)

// matching gives a short string that matches the pattern, of some least length where its repetitions allow that.
func matching(pattern string, least int) string {
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return ""
	}
	tree = tree.Simplify()
	for repeat := 0; ; repeat++ {
		var b strings.Builder
		write(&b, tree, repeat)
		if text := b.String(); len(text) >= least || repeat >= least {
			return text
		}
	}
}

// write spells one match of re, with repeat rounds of what may be repeated.
func write(b *strings.Builder, re *syntax.Regexp, repeat int) {
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		b.WriteRune(member(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte('a')
	case syntax.OpConcat, syntax.OpCapture:
		for _, sub := range re.Sub {
			write(b, sub, repeat)
		}
	case syntax.OpAlternate:
		write(b, re.Sub[0], repeat)
	case syntax.OpPlus, syntax.OpStar, syntax.OpQuest:
		for range rounds(re.Op, repeat) {
			write(b, re.Sub[0], repeat)
		}
	case syntax.OpNoMatch, syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText,
		syntax.OpWordBoundary, syntax.OpNoWordBoundary, syntax.OpRepeat:
		// nothing to write; Simplify leaves no OpRepeat
	}
}

// rounds bounds how often a repetition may be written.
func rounds(op syntax.Op, repeat int) int {
	switch op {
	case syntax.OpPlus:
		return max(repeat, 1)
	case syntax.OpQuest:
		return min(repeat, 1)
	default:
		return repeat
	}
}

// member gives a character of a class, a letter or a digit where there is one.
func member(ranges []rune) rune {
	for i := 0; i+1 < len(ranges); i += 2 {
		for _, r := range "a0A" {
			if ranges[i] <= r && r <= ranges[i+1] {
				return r
			}
		}
	}
	if len(ranges) == 0 {
		return 'a'
	}
	return ranges[0]
}
