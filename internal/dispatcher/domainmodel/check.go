// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package domainmodel

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/registry"
)

// Check says what is wrong with a model, with its line where there is one. JSON is read strictly. Of Turtle (RDF 1.1 Turtle,
// W3C) what is looked at is whether strings, IRIs and brackets are closed, prefixes declared, and the last statement ended:
// what a slip of the hand breaks. Markdown can't be wrong.
func Check(format registry.ModelFormat, text string) error {
	switch {
	case strings.TrimSpace(text) == "":
		return errors.New("the domain model is empty")
	case !utf8.ValidString(text):
		return errors.New("the domain model is not UTF-8")
	}
	switch format {
	case registry.ModelMarkdown:
		return nil
	case registry.ModelJSON:
		return checkJSON(text)
	case registry.ModelTurtle:
		return checkTurtle(text)
	default:
		return fmt.Errorf("the format %q is none of turtle, json and markdown", format)
	}
}

func checkJSON(text string) error {
	err := jsonrpc.Check([]byte(text), jsonrpc.Limits{MaxBytes: maxBytes, MaxDepth: 128})
	var syntax *jsonrpc.SyntaxError
	if errors.As(err, &syntax) {
		line := 1 + strings.Count(text[:min(syntax.Offset, len(text))], "\n")
		return fmt.Errorf("the domain model is not JSON: line %d: %w", line, err)
	}
	if err != nil {
		return fmt.Errorf("the domain model is not JSON: %w", err)
	}
	return nil
}

// Tokens of Turtle, as far as they matter here: what is none of them is skipped, a character at a time.
var (
	turtleSpace   = regexp.MustCompile(`^(?:\s+|#[^\n]*)`)
	turtleLong    = regexp.MustCompile(`^(?:"""(?s:.*?)[^\\]?"""|'''(?s:.*?)[^\\]?''')`)
	turtleString  = regexp.MustCompile(`^(?:"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')`)
	turtleIRI     = regexp.MustCompile(`^<[^<>"{}|^\x60\s]*>`)
	turtleDeclare = regexp.MustCompile(`^(?:@prefix|@base|(?i:prefix|base)\b)\s*(?:([^\s:<]*):)?\s*<[^<>"{}|^\x60\s]*>\s*\.?`)
	turtleLang    = regexp.MustCompile(`^@[A-Za-z]+(?:-[A-Za-z0-9]+)*`)
	// Names have whatever letters, numbers and marks there are, which is a little more than PN_CHARS has (RDF 1.1 Turtle, 6.5).
	turtleName = regexp.MustCompile(`^([\pL_][\pL\pM\pN_.\x{B7}\x{203F}\x{2040}-]*)?:(?:[\pL\pM\pN_:.%~\x{B7}\x{203F}\x{2040}\x{10000}-\x{EFFFF}-]|\\.)*`)
	turtleWord = regexp.MustCompile(`^[\pL\pM\pN_+.-]*[\pL\pM\pN_]`)
)

// turtle reads one text.
type turtle struct {
	text     string
	at       int
	open     []rune // brackets, the innermost last
	prefixes map[string]bool
	ended    bool // the last token ended a statement
}

func checkTurtle(text string) error {
	t := &turtle{text: text, prefixes: map[string]bool{"_": true}, ended: true}
	for t.at < len(text) {
		if problem := t.token(); problem != "" {
			return fmt.Errorf("the domain model is not Turtle: line %d: %s", 1+strings.Count(text[:t.at], "\n"), problem)
		}
	}
	switch {
	case len(t.open) > 0:
		return fmt.Errorf("the domain model is not Turtle: %q is never closed", t.open[len(t.open)-1])
	case !t.ended:
		return errors.New("the domain model is not Turtle: the last statement does not end with a full stop")
	}
	return nil
}

// take reads what an expression matches here, with its first group.
func (t *turtle) take(re *regexp.Regexp) (group string, ok bool) {
	found := re.FindStringSubmatch(t.text[t.at:])
	if found == nil || found[0] == "" {
		return "", false
	}
	t.at += len(found[0])
	if len(found) > 1 {
		group = found[1]
	}
	return group, true
}

// token reads one and says what is wrong with it.
func (t *turtle) token() string {
	if _, ok := t.take(turtleSpace); ok {
		return ""
	}
	if t.ended {
		if prefix, ok := t.take(turtleDeclare); ok {
			t.prefixes[prefix] = true
			return ""
		}
	}
	t.ended = false
	for _, re := range []*regexp.Regexp{turtleLong, turtleString, turtleIRI, turtleLang} {
		if _, ok := t.take(re); ok {
			return ""
		}
	}
	before := t.at
	if prefix, ok := t.take(turtleName); ok {
		// A full stop at the end of a name is that of the statement.
		for t.text[t.at-1] == '.' {
			t.at--
		}
		if !t.prefixes[prefix] {
			t.at = before
			return fmt.Sprintf("the prefix %q is not declared", prefix+":")
		}
		return ""
	}
	if _, ok := t.take(turtleWord); ok {
		return ""
	}
	return t.sign()
}

var closing = map[rune]rune{')': '(', ']': '['}

// sign reads a single character.
func (t *turtle) sign() string {
	c, size := utf8.DecodeRuneInString(t.text[t.at:])
	switch c {
	case '"', '\'':
		return "a string is not closed"
	case '<':
		return "an IRI is not closed, or has a character that IRIs do not have"
	case '(', '[':
		t.open = append(t.open, c)
	case ')', ']':
		last := len(t.open) - 1
		if last < 0 || t.open[last] != closing[c] {
			return fmt.Sprintf("%q closes nothing", c)
		}
		t.open = t.open[:last]
	case '.':
		if len(t.open) > 0 {
			return fmt.Sprintf("a full stop within %q", t.open[len(t.open)-1])
		}
		t.ended = true
	case ';', ',', '^', '+', '-':
	default:
		return fmt.Sprintf("%q has no meaning here", c)
	}
	t.at += size
	return ""
}
