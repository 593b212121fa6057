// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sse reads event streams (WHATWG HTML, section 9.2.6) as servers in the field write them.
//
// It owns the grammar of lines, fields and events, and the bound on one event. It knows nothing of MCP, makes no request
// and imports no other package of the project.
package sse

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
)

// Event is one dispatched block of a stream.
type Event struct {
	// ID is the stream's last event id after this block, which a client sends back as Last-Event-ID; "" if there was none.
	ID string
	// Name is the value of the block's event field; "" stands for "message".
	Name string
	// Data are the data lines joined by LF. It is valid until the next call of Next.
	Data []byte
}

// ErrTooLarge is the error of Next for an event over the bound. The stream cannot be read on.
var ErrTooLarge = errors.New("event too large")

// firstBuffer is what a Reader begins with, in bytes; it doubles up to the bound.
const firstBuffer = 4 << 10

// Reader reads the events of one stream. It is not safe for concurrent use.
type Reader struct {
	src io.Reader
	max int

	buf        []byte // what was read and not yet consumed is buf[start:end]
	start, end int
	scanned    int // bytes of buf[start:end] known to hold no line end
	err        error
	begun      bool // the first line has been looked at for a byte order mark
	skipLF     bool // the last line ended with CR, so that an LF now belongs to it

	data  []byte
	lines int // data lines of the open block
	name  string
	newID string // of the open block; it counts once the block is complete
	id    string
	retry time.Duration
}

// NewReader returns a reader of events whose lines and data are at most max bytes each.
func NewReader(src io.Reader, max int) *Reader {
	return &Reader{src: src, max: max, retry: -1}
}

// LastID is the id of the last complete block, also of one without data.
func (r *Reader) LastID() string { return r.id }

// Retry is the server's wish for the delay before a reconnection, negative if it never said one.
func (r *Reader) Retry() time.Duration { return r.retry }

// Next returns the next block that has a data field, even an empty one. Where the stream ends regularly (io.EOF) a block
// counts without its empty line, though the specification would drop it: servers in the field forget that line, and what
// was cut off is no JSON anyway. The error is io.EOF, ErrTooLarge (wrapped), or that of the source.
func (r *Reader) Next() (Event, error) {
	for {
		line, err := r.line()
		if errors.Is(err, io.EOF) && (r.lines > 0 || r.start < r.end) {
			return r.last()
		}
		if err != nil {
			return Event{}, err
		}
		if len(line) > 0 {
			if err := r.field(line); err != nil {
				return Event{}, err
			}
			continue
		}
		if event, ok := r.dispatch(); ok {
			return event, nil
		}
	}
}

// last dispatches what stands at the end of the stream without a line end or an empty line.
func (r *Reader) last() (Event, error) {
	rest := r.buf[r.start:r.end]
	if r.start = r.end; len(rest) > 0 {
		if err := r.field(rest); err != nil {
			return Event{}, err
		}
	}
	if event, ok := r.dispatch(); ok {
		return event, nil
	}
	return Event{}, io.EOF
}

func (r *Reader) dispatch() (Event, bool) {
	r.id = r.newID
	event := Event{ID: r.id, Name: r.name, Data: r.data}
	ok := r.lines > 0
	r.data, r.lines, r.name = r.data[:0], 0, ""
	return event, ok
}

// field takes one line that is not empty.
func (r *Reader) field(line []byte) error {
	key, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(key) {
	case "data":
		if r.lines > 0 {
			r.data = append(r.data, '\n')
		}
		if len(r.data)+len(value) > r.max {
			return r.tooLarge()
		}
		r.data = append(r.data, value...)
		r.lines++
	case "event":
		r.name = string(value)
	case "id":
		if bytes.IndexByte(value, 0) < 0 {
			r.newID = string(value)
		}
	case "retry":
		if ms, err := strconv.ParseUint(string(value), 10, 31); err == nil {
			r.retry = time.Duration(ms) * time.Millisecond
		}
	default: // a comment (empty key), or a field that the specification says to ignore
	}
	return nil
}

// line returns the next line without its end: LF, CR or CRLF, also where a CRLF comes in two reads.
func (r *Reader) line() ([]byte, error) {
	for {
		if line, ok := r.buffered(); ok {
			return line, nil
		}
		if r.err != nil {
			return nil, r.err
		}
		if err := r.fill(); err != nil {
			return nil, err
		}
	}
}

// buffered cuts a line off the buffer, if it holds a whole one.
func (r *Reader) buffered() ([]byte, bool) {
	if r.skipLF && r.start < r.end {
		if r.skipLF = false; r.buf[r.start] == '\n' {
			r.start++
		}
	}
	if !r.begun && !r.byteOrderMark() {
		return nil, false
	}
	rest := r.buf[r.start:r.end]
	i := bytes.IndexAny(rest[min(r.scanned, len(rest)):], "\r\n")
	if i < 0 {
		r.scanned = len(rest)
		return nil, false
	}
	i += min(r.scanned, len(rest))
	r.skipLF = rest[i] == '\r'
	r.start += i + 1
	r.scanned = 0
	return rest[:i], true
}

// byteOrderMark skips one at the beginning of the stream, and reports whether enough has been read to know.
func (r *Reader) byteOrderMark() bool {
	const mark = "\xef\xbb\xbf"
	rest := r.buf[r.start:r.end]
	if len(rest) < len(mark) && r.err == nil && bytes.HasPrefix([]byte(mark), rest) {
		return false
	}
	if bytes.HasPrefix(rest, []byte(mark)) {
		r.start += len(mark)
	}
	r.begun = true
	return true
}

// fill reads more into the buffer, which grows while one line needs it, up to the bound.
func (r *Reader) fill() error {
	if r.start > 0 {
		copy(r.buf, r.buf[r.start:r.end])
		r.start, r.end = 0, r.end-r.start
	}
	if r.end == len(r.buf) {
		// A line holds a field's name and its own end beside its data.
		bound := r.max + len("data: \r\n")
		if r.end >= bound {
			return r.tooLarge()
		}
		grown := make([]byte, min(bound, max(firstBuffer, 2*len(r.buf))))
		copy(grown, r.buf[:r.end])
		r.buf = grown
	}
	n, err := r.src.Read(r.buf[r.end:])
	r.end += n
	r.err = err
	return nil
}

func (r *Reader) tooLarge() error {
	r.err = fmt.Errorf("%w: the limit is %d bytes", ErrTooLarge, r.max)
	r.start, r.end = 0, 0
	return r.err
}
