// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package stderr reads what a child writes to its standard error: lines that a log and a status may show, and the last few of
// them. It imports nothing of the launcher.
package stderr

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

const (
	// MaxLines is how many lines a Tail keeps.
	MaxLines = 20
	// MaxLineBytes is how long each of them may be.
	MaxLineBytes = 1 << 10
	cutMark      = "…"
)

// escape matches the terminal control sequences that colour log lines.
var escape = regexp.MustCompile(`\x1b\[[0-9;?]*[ -/]*[@-~]`)

// Tail keeps the last lines of a child's stderr, and which of them are new
// since they were last taken.
type Tail struct {
	mu      sync.Mutex
	lines   []string
	fresh   int
	changed chan struct{} // holds one token while there are fresh lines
}

// New gives an empty tail.
func New() *Tail { return &Tail{changed: make(chan struct{}, 1)} }

// Add takes another line.
func (t *Tail) Add(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.lines) == MaxLines {
		t.lines = slices.Delete(t.lines, 0, 1)
	}
	t.lines = append(t.lines, line)
	t.fresh = min(t.fresh+1, MaxLines)
	select {
	case t.changed <- struct{}{}:
	default:
	}
}

// Changed gives a token while there are lines that were not taken.
func (t *Tail) Changed() <-chan struct{} { return t.changed }

// Take returns the lines added since the last Take, as far as they are kept.
func (t *Tail) Take() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	fresh := slices.Clone(t.lines[len(t.lines)-t.fresh:])
	t.fresh = 0
	return fresh
}

// Lines are those that are kept.
func (t *Tail) Lines() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.lines)
}

// Replace sets the whole tail: text from the wire, so bounded and cleaned again.
func (t *Tail) Replace(lines []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = CleanAll(lines)
}

// Each calls emit for every line of r until r ends, the last one also
// without its line break. It holds MaxLineBytes at most: the rest of a longer
// line is read and dropped.
func Each(r io.Reader, emit func(string)) {
	in := bufio.NewReaderSize(r, 4*MaxLineBytes)
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part[:min(len(part), MaxLineBytes+1-len(line))]...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err == nil || len(line) > 0 {
			emit(Clean(line))
		}
		if err != nil {
			return
		}
		line = line[:0]
	}
}

// Clean makes one line of text that a log and a status may show: valid
// UTF-8 of at most MaxLineBytes, without control and format characters (a
// carriage return or an escape sequence could pass for another child's line, a
// change of direction for other words). It leaves what it has made as it is.
func Clean(b []byte) string {
	cut := len(bytes.TrimRight(b, "\r\n")) > MaxLineBytes
	b = escape.ReplaceAll(b, nil)
	s := strings.Map(func(r rune) rune {
		if unicode.IsGraphic(r) || r == '\t' {
			return r
		}
		return -1
	}, strings.ToValidUTF8(string(b), string(utf8.RuneError)))
	if !cut && len(s) <= MaxLineBytes {
		return s
	}
	end := min(len(s), MaxLineBytes-len(cutMark))
	for end < len(s) && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + cutMark
}

// CleanAll bounds and cleans lines that came from the launcher.
func CleanAll(lines []string) []string {
	lines = lines[max(0, len(lines)-MaxLines):]
	clean := make([]string, 0, len(lines))
	for _, l := range lines {
		clean = append(clean, Clean([]byte(l)))
	}
	return clean
}
