// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package line cuts a server's standard output into lines of bounded length.
//
// It owns the framing of the stdio transport on the reading side (MCP, Transports, stdio): growth of the buffer, the bound,
// and what is left of a line that breaks the bound. It knows nothing of JSON and imports no other package of the project.
package line

import (
	"bytes"
	"errors"
	"io"
)

// The sizes of a Reader's memory, in bytes.
const (
	firstBuffer = 64 << 10  // what it begins with and goes back to; as much as a pipe holds
	keepBuffer  = 256 << 10 // a larger buffer is given back after the line that needed it
	tailBytes   = 256       // kept of the end of a line that is discarded
)

// ErrEndless is the error of Next for a line that goes on for many times the bound: nothing behind it can be reached.
var ErrEndless = errors.New("a line without end")

// endless is how many times the bound, or keepBuffer if that is more, a discarded line may take before the reader gives up.
const endless = 16

// Line is one line without its end.
type Line struct {
	// Text is the line, or its first bytes where it was Cut. It is valid until the next call of Next.
	Text []byte
	// Cut says that the line was longer than the bound; the rest is discarded. Tail are its last bytes.
	Cut  bool
	Tail []byte
}

// Reader reads lines. It is not safe for concurrent use.
type Reader struct {
	src io.Reader
	max int

	buf        []byte
	start, end int
	scanned    int // bytes of buf[start:end] known to hold no LF
	err        error
}

// NewReader returns a reader of lines of at most max bytes.
func NewReader(src io.Reader, max int) *Reader {
	return &Reader{src: src, max: max, buf: make([]byte, firstBuffer)}
}

// Next returns the next line, without its LF and without CRs before it. What follows the last LF at the end of the stream is a line
// too. The error is io.EOF, ErrEndless or that of the source.
func (r *Reader) Next() (Line, error) {
	for {
		rest := r.buf[r.start:r.end]
		if i := bytes.IndexByte(rest[r.scanned:], '\n'); i >= 0 {
			i += r.scanned
			r.start += i + 1
			r.scanned = 0
			if i > r.max {
				return cut(rest[:i], r.max), nil
			}
			return Line{Text: trimCR(rest[:i])}, nil
		}
		r.scanned = len(rest)
		if r.scanned > r.max {
			return r.discard()
		}
		if r.err != nil {
			if r.start = r.end; r.scanned > 0 {
				r.scanned = 0
				return Line{Text: trimCR(rest)}, nil
			}
			return Line{}, r.err
		}
		r.fill()
	}
}

func cut(text []byte, max int) Line {
	return Line{Text: text[:max], Cut: true, Tail: text[len(text)-min(tailBytes, len(text)):]}
}

func trimCR(text []byte) []byte {
	return bytes.TrimRight(text, "\r")
}

// fill reads more, in a buffer that grows while one line needs it and shrinks after that.
func (r *Reader) fill() {
	switch used := r.end - r.start; {
	case len(r.buf) > keepBuffer && used < firstBuffer:
		small := make([]byte, firstBuffer)
		copy(small, r.buf[r.start:r.end])
		r.buf, r.start, r.end = small, 0, used
	case r.end < len(r.buf):
	case r.start > 0:
		copy(r.buf, r.buf[r.start:r.end])
		r.start, r.end = 0, used
	default:
		// One byte over the bound shows that the line is longer.
		grown := make([]byte, min(2*len(r.buf), max(firstBuffer, r.max+1)))
		copy(grown, r.buf)
		r.buf = grown
	}
	r.read()
}

func (r *Reader) read() {
	n, err := r.src.Read(r.buf[r.end:])
	r.end += n
	r.err = err
}

// discard keeps the head of a line that is too long and reads on to its end.
func (r *Reader) discard() (Line, error) {
	head := bytes.Clone(r.buf[r.start : r.start+min(r.max, firstBuffer)])
	tail := bytes.Clone(lastBytes(r.buf[r.start:r.end]))
	total := r.end - r.start
	r.buf, r.scanned = make([]byte, firstBuffer), 0
	for {
		r.start, r.end = 0, 0
		if r.err != nil {
			return Line{}, r.err
		}
		r.read()
		got := r.buf[:r.end]
		i := bytes.IndexByte(got, '\n')
		if i >= 0 {
			r.start = i + 1
			got = got[:i]
		}
		tail = append(tail, lastBytes(got)...)
		tail = tail[len(tail)-min(tailBytes, len(tail)):]
		if i >= 0 {
			return Line{Text: head, Cut: true, Tail: trimCR(tail)}, nil
		}
		if total += len(got); total > endless*max(r.max, keepBuffer) {
			return Line{}, ErrEndless
		}
	}
}

func lastBytes(b []byte) []byte {
	return b[len(b)-min(tailBytes, len(b)):]
}
