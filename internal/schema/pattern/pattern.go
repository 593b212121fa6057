// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pattern compiles the regular expressions of a schema with RE2, which is linear in the text, and bounds their size.
//
// It owns the translation of ECMA-262's escapes and the words on what RE2 lacks. It knows no schemas.
package pattern

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"toolgate.dev/toolgate/internal/schema/violation"
)

// MaxSize is the number of instructions that one regular expression may compile to: RE2 is linear in the text,
// and this is the factor. All patterns of a schema together may have ten times as many.
const MaxSize = 10_000

// Engine compiles the patterns of one schema, each once: the metaschema asks for each one, too.
type Engine struct {
	known map[string]result
	sum   int // instructions of all patterns
}

type result struct {
	pattern jsonschema.Regexp
	err     error
}

// NewEngine gives one that has compiled nothing yet.
func NewEngine() *Engine { return &Engine{known: map[string]result{}} }

// Size is how many instructions a pattern that an Engine has compiled goes through, for each byte of the text; 0 for nil.
func Size(re jsonschema.Regexp) int {
	c, _ := re.(compiled)
	return c.size
}

// Compile implements jsonschema.RegexpEngine.
func (e *Engine) Compile(pattern string) (jsonschema.Regexp, error) {
	r, known := e.known[pattern]
	if !known {
		r.pattern, r.err = e.compile(pattern)
		e.known[pattern] = r
	}
	return r.pattern, r.err
}

func (e *Engine) compile(pattern string) (jsonschema.Regexp, error) {
	translated := translateEscapes(pattern)
	tree, err := syntax.Parse(translated, syntax.Perl)
	if err != nil {
		return nil, explained(err)
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, explained(err)
	}
	size := len(program.Inst)
	if e.sum += size; size > MaxSize || e.sum > 10*MaxSize {
		return nil, fmt.Errorf("it compiles to more than %d instructions, or all of the schema to more than %d", MaxSize, 10*MaxSize)
	}
	re, err := regexp.Compile(translated)
	if err != nil {
		return nil, explained(err)
	}
	return compiled{re, pattern, size}, nil
}

// compiled keeps the schema's own text, which is what a violation quotes.
type compiled struct {
	*regexp.Regexp
	text string
	size int
}

func (c compiled) String() string { return c.text }

// explained says what RE2 lacks on purpose, where that is the cause.
func explained(err error) error {
	var parse *syntax.Error
	if !errors.As(err, &parse) {
		return err
	}
	fragment := strconv.QuoteToGraphic(violation.Clip(parse.Expr, violation.MaxNameBytes))
	switch {
	case strings.HasPrefix(parse.Expr, "(?=") || strings.HasPrefix(parse.Expr, "(?!") || strings.HasPrefix(parse.Expr, "(?<"):
		return fmt.Errorf("RE2, which never backtracks, has no lookahead and no lookbehind (%s)", fragment)
	case parse.Code == syntax.ErrInvalidEscape:
		return fmt.Errorf("RE2 does not know the escape %s (it has no back-references)", fragment)
	case parse.Code == syntax.ErrInvalidRepeatSize:
		return fmt.Errorf("RE2 repeats at most 1000 times (%s)", fragment)
	default:
		return fmt.Errorf("%s: %s", parse.Code, fragment)
	}
}

// translateEscapes writes ECMA-262's \uXXXX and \u{X} (escapes that RE2 lacks) as \x{X}. Everything else is left as it is.
func translateEscapes(pattern string) string {
	if !strings.Contains(pattern, `\u`) {
		return pattern
	}
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		if pattern[i] != '\\' || i+1 == len(pattern) {
			b.WriteByte(pattern[i])
			continue
		}
		hex, length := unicodeEscape(pattern[i:])
		if length == 0 {
			b.WriteString(pattern[i : i+2])
			i++
			continue
		}
		b.WriteString(`\x{` + hex + `}`)
		i += length - 1
	}
	return b.String()
}

// unicodeEscape gives the digits and the length of the \uXXXX or \u{X} that s starts with, or zeros.
func unicodeEscape(s string) (hex string, length int) {
	rest, ok := strings.CutPrefix(s, `\u`)
	if !ok {
		return "", 0
	}
	if inner, braced := strings.CutPrefix(rest, "{"); braced {
		hex, _, ok = strings.Cut(inner, "}")
		length = len(hex) + 4
	} else if ok = len(rest) >= 4; ok {
		hex, length = rest[:4], 6
	}
	if _, err := strconv.ParseUint(hex, 16, 32); !ok || err != nil {
		return "", 0
	}
	return hex, length
}
