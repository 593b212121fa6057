// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package trail_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/audit"
	"toolgate.dev/toolgate/internal/dispatcher/audit/trail"
)

// file gives the lines of a log of n successful calls; the second is of a tool that may write, with its start.
func file(t *testing.T, n int) []string {
	t.Helper()
	var out bytes.Buffer
	log := audit.New(&out)
	for i := range n {
		r := audit.Record{Time: time.Unix(int64(i), 0).UTC(), TraceID: "t", Caller: "c", Server: "s", Method: "tools/call", Tool: "echo", Outcome: audit.Success}
		if i == 1 {
			started := r
			started.Outcome = audit.Started
			seq, err := log.Write(started)
			if err != nil {
				t.Fatal(err)
			}
			r.StartedAs = seq
		}
		if _, err := log.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	return strings.SplitAfter(strings.TrimSuffix(out.String(), "\n"), "\n")
}

// gapped gives the lines of a log that lost two records.
func gapped(t *testing.T) []string {
	t.Helper()
	var out bytes.Buffer
	sink := &brittle{Buffer: &out}
	log := audit.New(sink)
	for i := range 4 {
		sink.down = i == 1 || i == 2
		_, err := log.Write(audit.Record{Server: "s", Outcome: audit.Success})
		if (err != nil) != sink.down {
			t.Fatal(err)
		}
	}
	return strings.SplitAfter(out.String(), "\n")
}

type brittle struct {
	*bytes.Buffer
	down bool
}

func (b *brittle) Write(p []byte) (int, error) {
	if b.down {
		return 0, errors.New("disk full")
	}
	return b.Buffer.Write(p)
}

func TestFindings(t *testing.T) {
	lines := file(t, 5) // records 1 to 6: 2 is the start of 3
	other := file(t, 2)
	for name, tc := range map[string]struct {
		lines []string
		want  []string // of each finding, its beginning
	}{
		"a whole file":                          {lines, nil},
		"two runs, one line each in turn":       {interleave(lines, other), nil},
		"lines of another log between":          {slices.Insert(slices.Clone(lines), 2, `{"time":"x","level":"INFO","msg":"drained"}`+"\n", "panic: no\n", "\n", `7`+"\n", `null`+"\n"), nil},
		"an endless line of another log":        {slices.Insert(slices.Clone(lines), 2, strings.Repeat("x", 200_000)+"\n"), nil},
		"an endless object of another log":      {slices.Insert(slices.Clone(lines), 2, `{"msg":"`+strings.Repeat("x", 200_000)+"\"}\n"), nil},
		"a record that was made longer":         {replace(lines, 3, `"tool":"echo"`, `"tool":"`+strings.Repeat("x", audit.MaxLine)+`"`), []string{"line 5: Missing: 1 record"}},
		"no line break at the end":              {append(slices.Clone(lines[:5]), strings.TrimSuffix(lines[5], "\n")), nil},
		"the last record is missing":            {lines[:5], nil}, // the chain cannot show that
		"a record is missing":                   {slices.Delete(slices.Clone(lines), 3, 4), []string{"line 4: Missing: 1 record between line 3 (record 3) and this one (record 5)"}},
		"the beginning is missing":              {lines[3:], []string{"line 1: Missing: the file begins with record 4"}},
		"the end of a call is missing":          {lines[:2], []string{`line 2: Open: the call of "echo" was started`}},
		"a record was changed":                  {replace(lines, 3, `"success"`, `"failed"`), []string{"line 5: Changed: record 5 does not carry the hash of record 4 in line 4"}},
		"a hash was changed":                    {replace(lines, 3, `"prev":"sha256:`, `"prev":"sha256:0`), []string{"line 4: Changed", "line 5: Changed"}},
		"a blank was added":                     {replace(lines, 3, `,`, `, `), []string{"line 5: Changed"}},
		"line breaks of Windows":                {replace(lines, 3, "\n", "\r\n"), []string{"line 5: Changed"}},
		"a record stands twice":                 {slices.Insert(slices.Clone(lines), 4, lines[3]), []string{"line 5: Repeated: record 4 stands after record 4 of line 4"}},
		"two records have changed places":       {[]string{lines[0], lines[1], lines[3], lines[2], lines[4], lines[5]}, []string{"line 3: Missing: 1 record between", "line 4: Repeated: record 3", `line 2: Open`}},
		"a line was cut":                        {replace(lines, 3, lines[3][20:], "\n"), []string{"line 4: Cut: the line is no whole record: it was cut or changed; 20 bytes are left", "line 5: Missing: 1 record"}},
		"the last line was cut":                 {replace(lines, 5, lines[5][40:], ""), []string{"line 6: Cut"}},
		"the first record was changed":          {replace(lines, 0, `"tool":"echo"`, `"tool":"ech0"`), []string{"line 2: Changed"}},
		"the first record names one before it":  {replace(lines, 0, `"seq":1`, `"seq":1,"prev":"sha256:00"`), []string{"line 1: Changed: the first record", "line 2: Changed"}},
		"records that could not be written":     {gapped(t), []string{"line 2: Gap: 2 records could not be written before this one"}},
		"a record of another run in its place":  {[]string{lines[0], other[0], lines[1]}, []string{"line 3: Open"}},
		"a number where a text is due is a cut": {replace(lines, 3, `"server":"s"`, `"server":7`), []string{"line 4: Cut", "line 5: Missing"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			s, err := trail.Read(strings.NewReader(strings.Join(tc.lines, "")), trail.Visitor{Found: func(f trail.Finding) { got = append(got, f.String()) }})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.EqualFunc(got, tc.want, strings.HasPrefix) {
				t.Errorf("found\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tc.want, "\n"))
			}
			open := slices.IndexFunc(tc.want, func(w string) bool { return strings.Contains(w, "Open") }) >= 0
			if want := len(tc.want) == 0 || open && len(tc.want) == 1; s.Whole() != want {
				t.Errorf("whole is %v", s.Whole())
			}
		})
	}
}

func interleave(a, b []string) []string {
	var out []string
	for i := range a {
		out = append(out, a[i])
		if i < len(b) {
			out = append(out, strings.TrimSuffix(b[i], "\n")+"\n")
		}
	}
	return out
}

func replace(lines []string, i int, old, with string) []string {
	out := slices.Clone(lines)
	out[i] = strings.Replace(out[i], old, with, 1)
	return out
}

func TestSummary(t *testing.T) {
	lines := append(gapped(t), file(t, 3)...)
	lines = append(lines, "\nsomething else\n")
	records := 0
	s, err := trail.Read(strings.NewReader(strings.Join(lines, "")), trail.Visitor{Record: func(trail.Entry) error { records++; return nil }})
	if err != nil {
		t.Fatal(err)
	}
	if want := (trail.Summary{Lines: 8, Records: 7, Other: 1, Runs: 2, Lost: 2, Findings: 1}); s != want || records != 7 {
		t.Errorf("got %+v and %d records, want %+v", s, records, want)
	}
	stop := errors.New("enough")
	_, err = trail.Read(strings.NewReader(lines[0]), trail.Visitor{Record: func(trail.Entry) error { return stop }})
	if !errors.Is(err, stop) {
		t.Errorf("got %v, want the visitor's error", err)
	}
}

// half is a writer that takes the first half of a line and then fails, while down is set.
type half struct {
	bytes.Buffer
	down bool
}

func (h *half) Write(p []byte) (int, error) {
	if !h.down {
		return h.Buffer.Write(p)
	}
	n, _ := h.Buffer.Write(p[:len(p)/2])
	return n, errors.New("disk full")
}

// A line that was written in part must not swallow the one after it.
func TestALineWrittenInPart(t *testing.T) {
	var out half
	log := audit.New(&out)
	for i := range 4 {
		out.down = i == 1
		if _, err := log.Write(audit.Record{Server: "s", Outcome: audit.Success}); (err != nil) != out.down {
			t.Fatal(err)
		}
	}
	var got []string
	s, err := trail.Read(&out, trail.Visitor{Found: func(f trail.Finding) { got = append(got, f.String()) }})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"line 2: Cut", "line 3: Gap: 1 record could not be written"}
	if !slices.EqualFunc(got, want, strings.HasPrefix) || s.Records != 4 {
		t.Errorf("found %q in %+v, want %q", got, s, want)
	}
}
