// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"sync"
)

// MaxLine bounds one line, newline included: what a container log carries without splitting it.
const MaxLine = 8 << 10

// Log writes records to one writer. It is safe for concurrent use.
type Log struct {
	run  string
	macs sync.Pool // of *mac

	mu       sync.Mutex
	out      io.Writer
	sequence uint64
	previous []byte // hash of the last line, as a record names it
	line     []byte // the last line; its memory is used again
	lost     uint64
	torn     bool // the last line was written in part: what comes next must not be taken for its end
}

// mac is an HMAC under the log's key, and room for its sum.
type mac struct {
	hash.Hash
	sum [sha256.Size]byte
}

// New gives a log on out. Digests are keyed with a key that lives as long as the process, so that nobody can guess
// arguments from them; equal values have equal digests within one run.
func New(out io.Writer) *Log {
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // never fails: crypto/rand ends the process instead
	var run [8]byte
	_, _ = rand.Read(run[:]) // likewise
	l := &Log{run: hex.EncodeToString(run[:]), out: out}
	l.macs.New = func() any { return &mac{Hash: hmac.New(sha256.New, key)} }
	return l
}

// Digest is the keyed digest of a value: hmac-sha256:<hex>, empty for nil.
func (l *Log) Digest(value []byte) string {
	if value == nil {
		return ""
	}
	m := l.macs.Get().(*mac)
	m.Reset() // to the state behind the key, which is computed once
	m.Write(value)
	const algorithm = "hmac-sha256:"
	var digest [len(algorithm) + 2*sha256.Size]byte
	copy(digest[:], algorithm)
	hex.Encode(digest[len(algorithm):], m.Sum(m.sum[:0]))
	l.macs.Put(m)
	return string(digest[:])
}

// Write appends one record to the chain, and gives its sequence. A record that cannot be written is counted, the next one
// that can is preceded by a gap record, and the error is returned so that the caller can refuse what must not happen
// unrecorded.
func (l *Log) Write(r Record) (sequence uint64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost > 0 {
		gap := Record{Time: r.Time, Server: r.Server, Outcome: Gap, Lost: l.lost}
		if err := l.append(&gap); err != nil {
			l.lost++
			return 0, fmt.Errorf("writing audit gap: %w", err)
		}
		l.lost = 0
	}
	if err := l.append(&r); err != nil {
		l.lost++
		return 0, fmt.Errorf("writing audit record: %w", err)
	}
	return l.sequence, nil
}

func (l *Log) append(r *Record) error {
	r.Run, r.Sequence = l.run, l.sequence+1
	line, err := encode(l.line[:0], r, l.previous)
	if err != nil {
		return err
	}
	if l.line = line; cap(line) > 4*MaxLine {
		l.line = nil // one unusual record must not hold its memory for ever
	}
	if l.torn {
		if _, err := l.out.Write([]byte{'\n'}); err != nil {
			return err
		}
		l.torn = false
	}
	if n, err := l.out.Write(line); err != nil {
		l.torn = n > 0
		return err
	}
	sum := sha256.Sum256(line)
	l.sequence, l.previous = r.Sequence, hex.AppendEncode(append(l.previous[:0], "sha256:"...), sum[:])
	return nil
}
