// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"
	"unicode/utf8"
)

// MaxLine bounds one line, newline included: what a container log carries without splitting it.
const MaxLine = 8 << 10

// Log writes records to one writer. It is safe for concurrent use.
type Log struct {
	key []byte
	run string

	mu       sync.Mutex
	out      io.Writer
	sequence uint64
	previous string
	lost     uint64
}

// New gives a log on out. Digests are keyed with a key that lives as long as the process, so that nobody can guess
// arguments from them; equal values have equal digests within one run.
func New(out io.Writer) *Log {
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // never fails: crypto/rand ends the process instead
	var run [8]byte
	_, _ = rand.Read(run[:]) // likewise
	return &Log{key: key, run: hex.EncodeToString(run[:]), out: out}
}

// Digest is the keyed digest of a value: hmac-sha256:<hex>, empty for nil.
func (l *Log) Digest(value []byte) string {
	if value == nil {
		return ""
	}
	mac := hmac.New(sha256.New, l.key)
	mac.Write(value)
	return "hmac-sha256:" + hex.EncodeToString(mac.Sum(nil))
}

// Write appends one record to the chain, and gives its sequence. A record that cannot be written is counted, the next one that can is preceded by
// a gap record, and the error is returned so that the caller can refuse what must not happen unrecorded.
func (l *Log) Write(r Record) (sequence uint64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost > 0 {
		gap := Record{Time: r.Time, Server: r.Server, Outcome: Gap, Lost: l.lost}
		if err := l.append(gap); err != nil {
			l.lost++
			return 0, fmt.Errorf("writing audit gap: %w", err)
		}
		l.lost = 0
	}
	if err := l.append(r); err != nil {
		l.lost++
		return 0, fmt.Errorf("writing audit record: %w", err)
	}
	return l.sequence, nil
}

func (l *Log) append(r Record) error {
	r.Run, r.Sequence, r.Previous = l.run, l.sequence+1, l.previous
	line, err := encode(r)
	if err != nil {
		return err
	}
	if _, err := l.out.Write(line); err != nil {
		return err
	}
	sum := sha256.Sum256(line)
	l.sequence, l.previous = r.Sequence, "sha256:"+hex.EncodeToString(sum[:])
	return nil
}

// encode gives the line, at most MaxLine long: first the payloads go, then the stages' messages, then every text is cut, and
// what names the message stays.
func encode(r Record) ([]byte, error) {
	line, err := marshal(r)
	if err != nil || len(line) <= MaxLine {
		return line, err
	}
	for _, payload := range []struct {
		name  string
		value *json.RawMessage
	}{{"result", &r.Result}, {"arguments", &r.Arguments}} {
		if *payload.value == nil {
			continue
		}
		*payload.value, r.Omitted = nil, append(slices.Clone(r.Omitted), payload.name)
		if line, err = marshal(r); err != nil || len(line) <= MaxLine {
			return line, err
		}
	}
	stages := r.Stages
	r.Stages = nil
	for _, s := range stages {
		s.Message = ""
		r.Stages = append(r.Stages, s)
	}
	for limit := 512; ; limit /= 2 {
		for _, text := range []*string{&r.Parent, &r.Caller, &r.Client, &r.Server, &r.Method, &r.Tool, &r.Reason, &r.Rule} {
			*text = cut(*text, limit)
		}
		r.Audited = r.Audited[:min(len(r.Audited), limit/16)]
		line, err = marshal(r)
		if err != nil || len(line) <= MaxLine {
			return line, err
		}
		if limit == 0 {
			return nil, fmt.Errorf("record of %d bytes does not fit %d", len(line), MaxLine)
		}
	}
}

func marshal(r Record) ([]byte, error) {
	line, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	return append(line, '\n'), nil
}

// cut shortens text to at most limit bytes, on a rune's border, and marks that it did.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit] + "…"
}
