// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// shownLines are as many as help and still fit a terminal.
const shownLines = 5

var (
	// escape matches the terminal control sequences that colour log lines.
	escape = regexp.MustCompile(`\x1b\[[0-9;?]*[ -/]*[@-~]`)
	// frame is a line of a stack trace where those come after what went wrong, as in JavaScript and Java.
	frame = regexp.MustCompile(`^\s+at `)
)

// printed are the lines of what a container printed, without what could pass for other words at a terminal. Those of a dispatcher's
// state have been through the like.
func printed(text string) []string {
	text = strings.ToValidUTF8(text, string(utf8.RuneError))
	lines := strings.Split(escape.ReplaceAllString(text, ""), "\n")
	for i, l := range lines {
		lines[i] = strings.Map(func(r rune) rune {
			if unicode.IsGraphic(r) || r == '\t' {
				return r
			}
			return -1
		}, l)
	}
	return lines
}

// lastLines joins the last lines that say something; "" where none does. Of a stack trace the frames are left out, which would take the
// place of the error that they are of.
func lastLines(lines []string) string {
	lines = slices.DeleteFunc(slices.Clone(lines), func(l string) bool { return strings.TrimSpace(l) == "" })
	if told := slices.DeleteFunc(slices.Clone(lines), frame.MatchString); len(told) > 0 {
		lines = told
	}
	return strings.Join(lines[max(0, len(lines)-shownLines):], " | ")
}
