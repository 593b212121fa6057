// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package stderr

import (
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestLinesOfStderr(t *testing.T) {
	long := strings.Repeat("x", MaxLineBytes)
	cut := strings.Repeat("x", MaxLineBytes-len(cutMark)) + cutMark
	tests := map[string]struct {
		in   string
		want []string
	}{
		"nothing":                             {in: "", want: nil},
		"a line":                              {in: "one\n", want: []string{"one"}},
		"the last line without a break":       {in: "one\ntwo", want: []string{"one", "two"}},
		"an empty line":                       {in: "\none\n", want: []string{"", "one"}},
		"carriage returns":                    {in: "one\r\ntw\ro\r\n", want: []string{"one", "two"}},
		"a tab":                               {in: "a\tb\n", want: []string{"a\tb"}},
		"colours":                             {in: "\x1b[1;31mred\x1b[0m\n", want: []string{"red"}},
		"control characters of both kinds":    {in: "a\x00\x07\x7f\u0085b\n", want: []string{"ab"}},
		"line separators and directions":      {in: "a\u2028b\u202ec\u00a0d\n", want: []string{"abc\u00a0d"}},
		"bytes that are no UTF-8":             {in: "caf\xe9 \xff\xfe!\n", want: []string{"caf\ufffd \ufffd!"}},
		"a line as long as may be":            {in: long + "\n", want: []string{long}},
		"a line as long as may be, with CRLF": {in: long + "\r\n", want: []string{long}},
		"a line that is too long":             {in: long + "y\nnext\n", want: []string{cut, "next"}},
		"a line of a megabyte":                {in: strings.Repeat("x", 1<<20) + "\nnext", want: []string{cut, "next"}},
		"a rune across the limit":             {in: cut[:MaxLineBytes-len(cutMark)-1] + "ééé\n", want: []string{cut[1:]}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			Each(iotest.OneByteReader(strings.NewReader(tc.in)), func(l string) { got = append(got, l) })
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("byte by byte (-want +got):\n%s", diff)
			}
			got = nil
			Each(strings.NewReader(tc.in), func(l string) { got = append(got, l) })
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("at once (-want +got):\n%s", diff)
			}
			if again := CleanAll(got); len(got) > 0 && !cmp.Equal(got, again) {
				t.Errorf("cleaned twice: %q", again)
			}
		})
	}
}

func TestTailKeepsTheLastLines(t *testing.T) {
	tail := New()
	for i := range 30 {
		tail.Add(strings.Repeat("x", i))
	}
	lines := tail.Lines()
	if len(lines) != MaxLines || len(lines[0]) != 10 || len(lines[MaxLines-1]) != 29 {
		t.Errorf("tail %q", lines)
	}
	if fresh := tail.Take(); !cmp.Equal(fresh, lines) {
		t.Errorf("fresh lines %q", fresh)
	}
	tail.Add("new")
	if fresh := tail.Take(); !cmp.Equal(fresh, []string{"new"}) {
		t.Errorf("fresh lines %q", fresh)
	}
}

func FuzzCleanLine(f *testing.F) {
	f.Add([]byte("\x1b[31mred\xff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		s := Clean(b)
		if !utf8.ValidString(s) || len(s) > MaxLineBytes || strings.ContainsAny(s, "\r\n\x1b\x00") {
			t.Errorf("%q", s)
		}
	})
}
