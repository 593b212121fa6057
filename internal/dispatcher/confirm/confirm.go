// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package confirm words the question by which a person confirms one call, and reads the answer.
//
// The question is for people: it shows all of what will be done, in characters that hide nothing, and no way to answer it but
// by hand. What is too long to be shown whole is not asked about. The package is pure; what a confirmation is bound to, and who is asked, is for the pipeline. It never imports
// Kubernetes, the API, or the packages that move messages.
package confirm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"toolgate.dev/toolgate/internal/jsonrpc"
)

// The bounds of what a person is shown, in characters: more than anybody reads would be approved unread.
const (
	maxName      = 1024
	maxReason    = 500
	maxArguments = 4000
)

// Call is what a person is to confirm.
type Call struct {
	// Server names the server; Kind is what is called, in a word, and Name its name.
	Server, Kind, Name string
	// Arguments are raw JSON, nil for none.
	Arguments []byte
	// Reason says why a confirmation is needed.
	Reason string
}

// member is the one member of the form.
const member = "confirm"

// schema is that of the form: one box that is not ticked by itself.
const schema = `{"type":"object","properties":{"` + member + `":{"type":"boolean","title":"Do it","description":` +
	`"Yes lets this one call happen, with exactly these arguments.","default":false}},"required":["` + member + `"]}`

// Question gives the params of elicitation/create. The error names the part of the call that cannot be shown whole: a person
// would confirm what they have not seen. Only the reason may be cut, which is not the caller's.
func Question(c Call) ([]byte, error) {
	var server, name, arguments string
	for _, part := range []struct {
		into       *string
		what, text string
		limit      int
	}{
		{&server, "the server's name", c.Server, maxName},
		{&name, "the name", c.Name, maxName},
		{&arguments, "the arguments", compact(c.Arguments), maxArguments},
	} {
		shown, hidden := visible(part.text, part.limit)
		if hidden > 0 {
			return nil, fmt.Errorf("%s of more than %d characters cannot be shown whole", part.what, part.limit)
		}
		*part.into = shown
	}
	text := fmt.Sprintf("[%s] Do you confirm this call?\n%s: %s\n", server, c.Kind, name)
	if c.Arguments != nil {
		text += "Arguments: " + arguments + "\n"
	}
	reason, hidden := visible(c.Reason, maxReason)
	if hidden > 0 {
		reason += fmt.Sprintf("… (%d bytes more, which are not shown)", hidden)
	}
	out := jsonrpc.AppendString([]byte(`{"message":`), text+"Why you are asked: "+reason)
	return append(out, `,"requestedSchema":`+schema+`}`...), nil
}

// Given says whether the result of the elicitation is a person's yes: accepted, with the box ticked.
func Given(result []byte) bool {
	action, _ := jsonrpc.Member(result, "action")
	content, _ := jsonrpc.Member(result, "content")
	ticked, _ := jsonrpc.Member(content, member)
	word, _ := jsonrpc.String(action)
	yes, isBool := jsonrpc.Bool(ticked)
	return word == "accept" && isBool && yes
}

// compact takes out white space between tokens, which could push what matters out of sight.
func compact(raw []byte) string {
	if raw == nil {
		return ""
	}
	var out bytes.Buffer
	if err := json.Compact(&out, raw); err != nil {
		return string(raw) // it was checked before, so that this is never reached
	}
	return out.String()
}

// maxMarks is how many marks may stand on one letter: writing systems have two at most.
const maxMarks = 2

// visible writes text on one line, at most limit characters long, in which nothing is hidden: what is no printed character,
// and marks beyond what a letter can bear, stand as numbers. It gives how many bytes of text did not fit.
func visible(text string, limit int) (shown string, hidden int) {
	var out strings.Builder
	length, marks := 0, 0
	for at, r := range text {
		if marks++; !unicode.Is(unicode.Mn, r) {
			marks = 0
		}
		written := string(r)
		if r != ' ' && (!unicode.IsPrint(r) || marks > maxMarks) {
			written = fmt.Sprintf(`\u{%04X}`, r)
		}
		if length += utf8.RuneCountInString(written); length > limit {
			return out.String(), len(text) - at
		}
		out.WriteString(written)
	}
	return out.String(), 0
}
