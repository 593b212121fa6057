// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package trail

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"toolgate.dev/toolgate/internal/dispatcher/audit"
)

// Kind is a kind of finding.
type Kind string

// The kinds of findings. Open alone does not say that the file is not whole: the process may still be at it.
const (
	// Cut is a line that is no whole record.
	Cut Kind = "Cut"
	// Missing are records that are not there.
	Missing Kind = "Missing"
	// Changed is a record that does not fit the one before: one of the two was changed.
	Changed Kind = "Changed"
	// Repeated is a record that stands twice, or after a later one.
	Repeated Kind = "Repeated"
	// Gap are records that could not be written at the time.
	Gap Kind = "Gap"
	// Open is a call that was started and whose end is not there: whether it had an effect is not known.
	Open Kind = "Open"
)

// Finding is one thing that is not as it should be.
type Finding struct {
	Line    int    `json:"line"`
	Kind    Kind   `json:"kind"`
	Message string `json:"message"`
}

// String gives the finding as a line for people.
func (f Finding) String() string { return fmt.Sprintf("line %d: %s: %s", f.Line, f.Kind, f.Message) }

// run is the chain of one process, as far as it was read.
type run struct {
	sequence uint64
	hash     string
	line     int
	// open are the started calls without an end, by the sequence of their record.
	open map[uint64]openCall
}

type openCall struct {
	line int
	tool string
}

// checker follows the chains of a file.
type checker struct {
	Summary
	visitor Visitor
	runs    map[string]*run
}

func (c *checker) found(f Finding) {
	if f.Kind == Open {
		c.Open++
	} else {
		c.Findings++
	}
	if c.visitor.Found != nil {
		c.visitor.Found(f)
	}
}

// chain holds a record to the one before of the same run.
func (c *checker) chain(line []byte, r *audit.Record) {
	at, known := c.runs[r.Run]
	if !known {
		c.Runs++
		at = &run{open: map[uint64]openCall{}}
		c.runs[r.Run] = at
	}
	if message, kind := at.compare(r, known); kind != "" {
		c.found(Finding{Kind: kind, Line: c.Lines, Message: message})
		if kind == Repeated {
			return // what follows is held to the latest record
		}
	}
	sum := sha256.Sum256(line)
	at.sequence, at.hash, at.line = r.Sequence, "sha256:"+hex.EncodeToString(sum[:]), c.Lines
	switch r.Outcome {
	case audit.Gap:
		c.Lost += r.Lost
		c.found(Finding{Kind: Gap, Line: c.Lines, Message: fmt.Sprintf("%s could not be written before this one", records(r.Lost))})
		return
	case audit.Started:
		at.open[r.Sequence] = openCall{line: c.Lines, tool: r.Tool}
		return
	case audit.Success, audit.ToolError, audit.Rejected, audit.Failed, audit.TimedOut, audit.Cancelled, audit.Unknown, audit.InputRequired,
		audit.ConfirmPending, audit.Confirmed, audit.Declined:
	}
	delete(at.open, r.StartedAs)
}

// compare says what is wrong with a record after the one that was read before it; the kind is empty where nothing is.
func (p *run) compare(r *audit.Record, known bool) (string, Kind) {
	next := p.sequence + 1
	switch {
	case r.Sequence > next && !known:
		return fmt.Sprintf("the file begins with record %d of run %q: %s before it are not here", r.Sequence, r.Run, records(r.Sequence-1)), Missing
	case r.Sequence > next:
		return fmt.Sprintf("%s between line %d (record %d) and this one (record %d) are missing",
			records(r.Sequence-next), p.line, p.sequence, r.Sequence), Missing
	case r.Sequence < next:
		return fmt.Sprintf("record %d stands after record %d of line %d: it is repeated or out of order", r.Sequence, p.sequence, p.line), Repeated
	case r.Previous != p.hash && !known:
		return fmt.Sprintf("the first record of run %q names one before it: it was changed", r.Run), Changed
	case r.Previous != p.hash:
		return fmt.Sprintf("record %d does not carry the hash of record %d in line %d: one of the two was changed after it was written",
			r.Sequence, p.sequence, p.line), Changed
	}
	return "", ""
}

func records(n uint64) string {
	if n == 1 {
		return "1 record"
	}
	return fmt.Sprintf("%d records", n)
}

// end tells of the calls whose end was not seen.
func (c *checker) end() {
	var open []openCall
	for _, at := range c.runs {
		open = slices.AppendSeq(open, maps.Values(at.open))
	}
	slices.SortFunc(open, func(a, b openCall) int { return cmp.Compare(a.line, b.line) })
	for _, call := range open {
		c.found(Finding{Kind: Open, Line: call.line, Message: fmt.Sprintf(
			"the call of %q was started and no end of it is here: whether it had an effect is not known", call.tool)})
	}
}
