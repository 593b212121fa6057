// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package confirm words the question by which a person confirms one call, and reads the answer.
//
// The question is for people: it shows what will be done, in characters that hide nothing, and no way to answer it but by
// hand. The package is pure; what a confirmation is bound to, and who is asked, is for the pipeline. It never imports
// Kubernetes, the API, or the packages that move messages.
package confirm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"toolgate.dev/toolgate/internal/jsonrpc"
)

// The bounds of what a person is shown, in characters.
const (
	maxName      = 200
	maxReason    = 500
	maxArguments = 2000
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

// Question gives the params of elicitation/create.
func Question(c Call) []byte {
	text := fmt.Sprintf("[%s] Do you confirm this call?\n%s: %s\n", visible(c.Server, maxName), c.Kind, visible(c.Name, maxName))
	if c.Arguments != nil {
		text += "Arguments: " + visible(compact(c.Arguments), maxArguments) + "\n"
	}
	text += "Why you are asked: " + visible(c.Reason, maxReason)
	out := jsonrpc.AppendString([]byte(`{"message":`), text)
	return append(out, `,"requestedSchema":`+schema+`}`...)
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
	var out bytes.Buffer
	if err := json.Compact(&out, raw); err != nil {
		return string(raw) // it was checked before, so that this is never reached
	}
	return out.String()
}

// maxMarks is how many marks may stand on one letter: writing systems have two at most.
const maxMarks = 2

// visible writes text on one line, at most limit characters long, in which nothing is hidden: what is no printed character,
// and marks beyond what a letter can bear, stand as numbers. It says how much was cut off.
func visible(text string, limit int) string {
	var out strings.Builder
	shown, marks := 0, 0
	for at, r := range text {
		if shown >= limit {
			fmt.Fprintf(&out, "… (%d bytes more, which are not shown)", len(text)-at)
			break
		}
		if marks++; !unicode.Is(unicode.Mn, r) {
			marks = 0
		}
		if r == ' ' || unicode.IsPrint(r) && marks <= maxMarks {
			out.WriteRune(r)
		} else {
			fmt.Fprintf(&out, `\u{%04X}`, r)
		}
		shown++
	}
	return out.String()
}
