// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package trail reads what package audit has written, and says where a file is not whole: lines that were cut, records that
// are missing, changed or repeated, and calls whose end nobody saw.
//
// It owns the check of the chain. It writes nothing, and imports nothing of the project but the record's shape.
package trail

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"toolgate.dev/toolgate/internal/dispatcher/audit"
)

// Entry is one record and where it stands.
type Entry struct {
	// Line counts from 1.
	Line int
	// Raw is the line without its line break; it is valid during the callback only.
	Raw    []byte
	Record audit.Record
}

// Summary is what a file holds.
type Summary struct {
	Lines   int `json:"lines"`
	Records int `json:"records"`
	// Other lines are no audit records: logs that were collected into the same file.
	Other int `json:"other"`
	// Runs is how many processes wrote the records.
	Runs int `json:"runs"`
	// Lost is how many records the gap records stand for.
	Lost uint64 `json:"lost"`
	// Findings counts those that say that the file is not whole.
	Findings int `json:"findings"`
	// Open is how many calls were started and have no end here.
	Open int `json:"open"`
}

// Whole says whether nothing is missing as far as the chain can show it.
func (s *Summary) Whole() bool { return s.Findings == 0 }

// Visitor is told of what a file holds, in the order of its lines; each part may be nil.
type Visitor struct {
	// Record is called for each record. Its error ends the reading.
	Record func(Entry) error
	// Found is called for each finding, those about the end of the file last.
	Found func(Finding)
}

// maxLine bounds what is read as one line. Records are far below it (audit.MaxLine); a longer line is none.
const maxLine = 64 << 10

// Read reads a file to its end. The error is that of the reader or of the visitor; what is wrong with the content is told
// as findings.
func Read(file io.Reader, v Visitor) (Summary, error) {
	c := checker{visitor: v, runs: map[string]*run{}}
	in := bufio.NewReaderSize(file, maxLine)
	for {
		line, err := nextLine(in)
		if len(line) > 0 {
			c.Lines++
			if err := c.line(line); err != nil {
				return c.Summary, err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			c.end()
			return c.Summary, nil
		case err != nil:
			return c.Summary, fmt.Errorf("line %d: %w", c.Lines+1, err)
		}
	}
}

// nextLine gives a line with its line break; of one that is too long, its beginning.
func nextLine(in *bufio.Reader) ([]byte, error) {
	line, err := in.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, err
	}
	line = bytes.Clone(line)
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = in.ReadSlice('\n')
	}
	return line, err
}

// line looks at one line.
func (c *checker) line(line []byte) error {
	text := bytes.TrimRight(line, "\r\n")
	if !bytes.HasPrefix(text, []byte("{")) || len(line) > audit.MaxLine { // no record is longer; one that was made so is missing
		c.Other++
		return nil
	}
	r, kind := parse(text)
	switch kind {
	case foreign:
		c.Other++
		return nil
	case broken:
		c.found(Finding{Kind: Cut, Line: c.Lines, Message: fmt.Sprintf("the line is no whole record: it was cut or changed; %d bytes are left", len(text))})
		return nil
	case whole:
	}
	c.Records++
	c.chain(line, &r)
	if c.visitor.Record == nil {
		return nil
	}
	return c.visitor.Record(Entry{Line: c.Lines, Raw: text, Record: r})
}

// shape is what a line turned out to be.
type shape uint8

const (
	whole shape = iota
	foreign
	broken
)

// parse reads a record. An object that has neither run nor seq is of another log.
func parse(text []byte) (r audit.Record, kind shape) {
	var members map[string]json.RawMessage
	if json.Unmarshal(text, &members) != nil {
		return r, broken
	}
	if members["run"] == nil && members["seq"] == nil {
		return r, foreign
	}
	if json.Unmarshal(text, &r) != nil {
		return r, broken
	}
	return r, whole
}
