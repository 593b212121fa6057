// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package line

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func readAll(r *Reader) (texts []string, cuts int, err error) {
	for {
		l, err := r.Next()
		if err != nil {
			return texts, cuts, err
		}
		if l.Cut {
			cuts++
			continue
		}
		texts = append(texts, string(l.Text))
	}
}

func TestNext(t *testing.T) {
	long := func(n int) string { return strings.Repeat("x", n) }
	for name, tc := range map[string]struct {
		max      int
		stream   string
		want     []string
		wantCuts int
	}{
		"lines end with LF or CRLF":                        {max: 100, stream: "a\nb\r\n\nc", want: []string{"a", "b", "", "c"}},
		"nothing":                                          {max: 100},
		"a line of exactly the bound fits":                 {max: 10, stream: long(10) + "\nb\n", want: []string{long(10), "b"}},
		"one byte more is cut, and the next line is whole": {max: 10, stream: long(11) + "\nb\n", want: []string{"b"}, wantCuts: 1},
		"64 KiB less one (G-66)":                           {max: 1 << 20, stream: long(1<<16-1) + "\nb\n", want: []string{long(1<<16 - 1), "b"}},
		"64 KiB (G-66)":                                    {max: 1 << 20, stream: long(1<<16) + "\nb\n", want: []string{long(1 << 16), "b"}},
		"64 KiB and one (G-66)":                            {max: 1 << 20, stream: long(1<<16+1) + "\nb\n", want: []string{long(1<<16 + 1), "b"}},
		"3 MiB":                                            {max: 4 << 20, stream: "a\n" + long(3<<20) + "\nb\n", want: []string{"a", long(3 << 20), "b"}},
		"a long line over the bound":                       {max: 1 << 20, stream: "a\n" + long(3<<20) + "\nb\n", want: []string{"a", "b"}, wantCuts: 1},
		"two in a row":                                     {max: 1 << 10, stream: long(1<<17) + "\n" + long(1<<12) + "\nb\n", want: []string{"b"}, wantCuts: 2},
	} {
		t.Run(name, func(t *testing.T) {
			for how, src := range map[string]io.Reader{
				"large reads": strings.NewReader(tc.stream),
				"half reads":  iotest.HalfReader(strings.NewReader(tc.stream)),
			} {
				got, cuts, err := readAll(NewReader(src, tc.max))
				if !errors.Is(err, io.EOF) {
					t.Fatalf("%s: error %v, want EOF", how, err)
				}
				if diff := cmp.Diff(tc.want, got); diff != "" || cuts != tc.wantCuts {
					t.Errorf("%s: %d cut, want %d; lines (-want +got):\n%s", how, cuts, tc.wantCuts, diff)
				}
			}
		})
	}
}

func TestNextKeepsBothEndsOfACutLine(t *testing.T) {
	stream := `{"head":1,` + strings.Repeat("x", 1<<20) + `,"tail":1}` + "\r\n"
	got, err := NewReader(iotest.HalfReader(strings.NewReader(stream)), 1<<10).Next()
	if err != nil || !got.Cut {
		t.Fatalf("got %+v, %v, want a cut line", got, err)
	}
	if !strings.HasPrefix(string(got.Text), `{"head":1,`) || !strings.HasSuffix(string(got.Tail), `,"tail":1}`) {
		t.Errorf("ends are %.20q and %q", got.Text, got.Tail)
	}
}

func TestNextGivesUpOnALineWithoutEnd(t *testing.T) {
	_, err := NewReader(endlessX{}, 1<<16).Next()
	if !errors.Is(err, ErrEndless) {
		t.Errorf("error %v, want ErrEndless (G-65)", err)
	}
}

func TestNextGivesBackALargeBuffer(t *testing.T) {
	r := NewReader(iotest.HalfReader(strings.NewReader(strings.Repeat("x", 4<<20)+"\n"+strings.Repeat("b\n", 1<<16))), 8<<20)
	if _, _, err := readAll(r); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	if len(r.buf) > keepBuffer {
		t.Errorf("%d bytes are kept after a long line, want at most %d", len(r.buf), keepBuffer)
	}
}

type endlessX struct{}

func (endlessX) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}
