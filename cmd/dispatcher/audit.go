// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"

	"toolgate.dev/toolgate/internal/dispatcher/audit/prov"
	"toolgate.dev/toolgate/internal/dispatcher/audit/trail"
)

// errNotWhole is the exit code for an audit file in which something is missing or changed.
const errNotWhole = exit(2)

// auditCommand reads audit records: it writes them in another form, or, as `audit verify`, says whether all are there.
func auditCommand(ctx context.Context, args []string, e env) error {
	if len(args) > 0 && args[0] == "verify" {
		return auditVerify(ctx, args[1:], e)
	}
	flags := flag.NewFlagSet("dispatcher audit", flag.ContinueOnError)
	format := flags.String("format", "turtle", "`form` to write the records in: turtle (W3C PROV) or json (one array)")
	if err := parse(flags, args, e); err != nil {
		return parsed(err)
	}
	out := bufio.NewWriter(e.stdout)
	var visitor trail.Visitor
	var finish func() error
	switch *format {
	case "turtle":
		w := prov.NewWriter(out)
		visitor.Record, finish = func(entry trail.Entry) error { return w.Write(&entry.Record) }, w.Close
	case "json":
		visitor.Record, finish = jsonArray(out)
	default:
		return fmt.Errorf("--format %q is not one of turtle, json", *format)
	}
	visitor.Found = func(f trail.Finding) {
		_, _ = fmt.Fprintln(e.stderr, f) // the exit code says it too
	}
	summary, err := readTrail(flags.Args(), e, visitor)
	if err != nil {
		return err
	}
	if err := errors.Join(finish(), out.Flush()); err != nil {
		return fmt.Errorf("writing the records: %w", err)
	}
	return whole(&summary)
}

// jsonArray writes records as they stand, between brackets.
func jsonArray(out *bufio.Writer) (record func(trail.Entry) error, finish func() error) {
	separator := "[\n"
	record = func(entry trail.Entry) error {
		_, _ = out.WriteString(separator) // a bufio.Writer keeps its first error
		separator = ",\n"
		_, err := out.Write(entry.Raw)
		return err
	}
	finish = func() error {
		if separator == "[\n" {
			_, _ = out.WriteString("[")
		}
		_, err := out.WriteString("\n]\n")
		return err
	}
	return record, finish
}

// verification is the shape of `dispatcher audit verify --output json`.
type verification struct {
	Whole bool `json:"whole"`
	trail.Summary
	Found []trail.Finding `json:"found"`
}

// auditVerify says whether the records of a file are all there and unchanged, as far as their chain can show it.
func auditVerify(_ context.Context, args []string, e env) error {
	flags := flag.NewFlagSet("dispatcher audit verify", flag.ContinueOnError)
	output := flags.String("output", "text", "`form` of the answer: text or json")
	if err := parse(flags, args, e); err != nil {
		return parsed(err)
	}
	v := verification{Found: []trail.Finding{}}
	var visitor trail.Visitor
	switch *output {
	case "text":
		visitor.Found = func(f trail.Finding) {
			_, _ = fmt.Fprintln(e.stdout, f) // the last line would fail too, and is looked at
		}
	case "json":
		visitor.Found = func(f trail.Finding) { v.Found = append(v.Found, f) }
	default:
		return fmt.Errorf("--output %q is not one of text, json", *output)
	}
	var err error
	if v.Summary, err = readTrail(flags.Args(), e, visitor); err != nil {
		return err
	}
	if v.Records == 0 {
		return fmt.Errorf("there is no audit record in its %d lines: nothing to verify", v.Lines)
	}
	v.Whole = v.Summary.Whole()
	if *output == "json" {
		encoder := json.NewEncoder(e.stdout)
		encoder.SetIndent("", "  ")
		err = encoder.Encode(v)
	} else {
		err = say(e.stdout, summaryText(&v.Summary))
	}
	if err != nil {
		return err
	}
	return whole(&v.Summary)
}

func whole(s *trail.Summary) error {
	if s.Whole() {
		return nil
	}
	return errNotWhole
}

// summaryText is the last line of a verification.
func summaryText(s *trail.Summary) string {
	text := fmt.Sprintf("%d records of %d runs in %d lines (%d of them something else)", s.Records, s.Runs, s.Lines, s.Other)
	if s.Whole() {
		return text + ": the chain holds from the first to the last; what was cut off after the last does not show"
	}
	return fmt.Sprintf("%s: not whole, %d findings", text, s.Findings)
}

// readTrail reads the file that the arguments name, standard input for "-" and where none is named.
func readTrail(args []string, e env, v trail.Visitor) (trail.Summary, error) {
	if len(args) > 1 {
		return trail.Summary{}, fmt.Errorf("audit reads one file, not %d: join them first, in their order", len(args))
	}
	in := e.stdin
	if len(args) == 1 && args[0] != "-" {
		file, err := os.Open(args[0])
		if err != nil {
			return trail.Summary{}, fmt.Errorf("opening the audit file: %w", err)
		}
		defer func() { _ = file.Close() }() // it was only read
		in = file
	}
	summary, err := trail.Read(in, v)
	if err != nil {
		return summary, fmt.Errorf("reading audit records: %w", err)
	}
	return summary, nil
}
