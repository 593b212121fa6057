// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package launcher

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
	maxTailLines = 20
	maxLineBytes = 1 << 10
	cutMark      = "…"
)

// escape matches the terminal control sequences that colour log lines.
var escape = regexp.MustCompile(`\x1b\[[0-9;?]*[ -/]*[@-~]`)

// tail keeps the last lines of a child's stderr, and which of them are new
// since they were last taken.
type tail struct {
	mu      sync.Mutex
	lines   []string
	fresh   int
	changed chan struct{} // holds one token while there are fresh lines
}

func newTail() *tail { return &tail{changed: make(chan struct{}, 1)} }

func (t *tail) add(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.lines) == maxTailLines {
		t.lines = slices.Delete(t.lines, 0, 1)
	}
	t.lines = append(t.lines, line)
	t.fresh = min(t.fresh+1, maxTailLines)
	select {
	case t.changed <- struct{}{}:
	default:
	}
}

// take returns the lines added since the last take, as far as they are kept.
func (t *tail) take() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	fresh := slices.Clone(t.lines[len(t.lines)-t.fresh:])
	t.fresh = 0
	return fresh
}

func (t *tail) snapshot() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.lines)
}

// replace sets the whole tail: text from the wire, so bounded and cleaned again.
func (t *tail) replace(lines []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = cleanLines(lines)
}

// eachLine calls emit for every line of r until r ends, the last one also
// without its line break. It holds maxLineBytes at most: the rest of a longer
// line is read and dropped.
func eachLine(r io.Reader, emit func(string)) {
	in := bufio.NewReaderSize(r, 4*maxLineBytes)
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part[:min(len(part), maxLineBytes+1-len(line))]...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err == nil || len(line) > 0 {
			emit(cleanLine(line))
		}
		if err != nil {
			return
		}
		line = line[:0]
	}
}

// cleanLine makes one line of text that a log and a status may show: valid
// UTF-8 of at most maxLineBytes, without control and format characters (a
// carriage return or an escape sequence could pass for another child's line, a
// change of direction for other words). It leaves what it has made as it is.
func cleanLine(b []byte) string {
	cut := len(bytes.TrimRight(b, "\r\n")) > maxLineBytes
	b = escape.ReplaceAll(b, nil)
	s := strings.Map(func(r rune) rune {
		if unicode.IsGraphic(r) || r == '\t' {
			return r
		}
		return -1
	}, strings.ToValidUTF8(string(b), string(utf8.RuneError)))
	if !cut && len(s) <= maxLineBytes {
		return s
	}
	end := min(len(s), maxLineBytes-len(cutMark))
	for end < len(s) && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + cutMark
}

// cleanLines bounds and cleans lines that came from the launcher.
func cleanLines(lines []string) []string {
	lines = lines[max(0, len(lines)-maxTailLines):]
	clean := make([]string, 0, len(lines))
	for _, l := range lines {
		clean = append(clean, cleanLine([]byte(l)))
	}
	return clean
}
