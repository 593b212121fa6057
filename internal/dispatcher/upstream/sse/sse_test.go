// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package sse

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
)

type block struct{ ID, Name, Data string }

func readAll(r *Reader) (blocks []block, err error) {
	for {
		event, err := r.Next()
		if err != nil {
			return blocks, err
		}
		blocks = append(blocks, block{event.ID, event.Name, string(event.Data)})
	}
}

func TestNext(t *testing.T) {
	for name, tc := range map[string]struct {
		stream    string
		want      []block
		wantID    string
		wantRetry time.Duration
	}{
		"lines end with LF":                                {stream: "data: a\n\ndata: b\n\n", want: []block{{Data: "a"}, {Data: "b"}}},
		"lines end with CRLF (G-41)":                       {stream: "event: message\r\ndata: a\r\n\r\ndata: b\r\n\r\n", want: []block{{Name: "message", Data: "a"}, {Data: "b"}}},
		"lines end with CR (G-41)":                         {stream: "data: a\r\rdata: b\r\r", want: []block{{Data: "a"}, {Data: "b"}}},
		"line ends are mixed":                              {stream: "data: a\r\ndata: b\rdata: c\n\r\ndata: d\n\n", want: []block{{Data: "a\nb\nc"}, {Data: "d"}}},
		"a byte order mark begins the stream":              {stream: "\xef\xbb\xbfdata: a\n\n", want: []block{{Data: "a"}}},
		"a byte order mark elsewhere belongs to the line":  {stream: "data: a\n\n\xef\xbb\xbfdata: b\n\n", want: []block{{Data: "a"}}},
		"comments are skipped":                             {stream: ": keep-alive\n\n:\ndata: a\n: x\n\n", want: []block{{Data: "a"}}},
		"one space after the colon goes":                   {stream: "data:a\ndata:  b\n\n", want: []block{{Data: "a\n b"}}},
		"a field without a colon has an empty value":       {stream: "data\n\n", want: []block{{Data: ""}}},
		"a block without data is no event":                 {stream: "event: ping\n\ndata: a\n\n", want: []block{{Data: "a"}}},
		"an id stays for later events":                     {stream: "id: 7\ndata: a\n\ndata: b\n\n", want: []block{{ID: "7", Data: "a"}, {ID: "7", Data: "b"}}, wantID: "7"},
		"an id without data counts":                        {stream: "id: 7\n\n", wantID: "7"},
		"an id with NUL is ignored":                        {stream: "id: 7\n\nid: 8\x00\n\n", wantID: "7"},
		"the id of a block that is cut off does not count": {stream: "id: 7\ndata: a\n\nid: 8\n", want: []block{{ID: "7", Data: "a"}}, wantID: "7"},
		"retry is in milliseconds":                         {stream: "retry: 250\n\n", wantRetry: 250 * time.Millisecond},
		"retry that is no number is ignored":               {stream: "retry: soon\nretry: -1\n\n"},
		"unknown fields are ignored":                       {stream: "foo: bar\ndata: a\n\n", want: []block{{Data: "a"}}},
		"the last empty line is missing":                   {stream: "data: a\n", want: []block{{Data: "a"}}},
		"the last line end is missing":                     {stream: "data: a\ndata: b", want: []block{{Data: "a\nb"}}},
		"nothing":                                          {},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.wantRetry == 0 {
				tc.wantRetry = -1
			}
			for how, src := range map[string]io.Reader{
				"in one read":     strings.NewReader(tc.stream),
				"byte by byte":    iotest.OneByteReader(strings.NewReader(tc.stream)),
				"data with error": iotest.DataErrReader(strings.NewReader(tc.stream)),
			} {
				r := NewReader(src, 1<<20)
				got, err := readAll(r)
				if !errors.Is(err, io.EOF) {
					t.Fatalf("%s: error %v, want EOF", how, err)
				}
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("%s: events (-want +got):\n%s", how, diff)
				}
				if r.LastID() != tc.wantID || r.Retry() != tc.wantRetry {
					t.Errorf("%s: id %q and retry %v, want %q and %v", how, r.LastID(), r.Retry(), tc.wantID, tc.wantRetry)
				}
			}
		})
	}
}

func TestNextBounds(t *testing.T) {
	const limit = 10_000
	for name, tc := range map[string]struct {
		stream string
		fits   bool
	}{
		"data of exactly the bound fits":    {stream: "data: " + strings.Repeat("x", limit) + "\n\n", fits: true},
		"one byte more does not":            {stream: "data: " + strings.Repeat("x", limit+1) + "\n\n"},
		"many small data lines are counted": {stream: strings.Repeat("data: xxxxxxxxx\n", limit/10+1) + "\n"},
		"an endless comment is stopped":     {stream: ":" + strings.Repeat("x", 10*limit)},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readAll(NewReader(strings.NewReader(tc.stream), limit))
			if got := !errors.Is(err, ErrTooLarge); got != tc.fits {
				t.Errorf("error %v, want fit %v", err, tc.fits)
			}
		})
	}
}

func TestNextGivesTheSourcesError(t *testing.T) {
	broken := errors.New("reset")
	got, err := readAll(NewReader(io.MultiReader(strings.NewReader("data: a\n\ndata: b\n"), iotest.ErrReader(broken)), 100))
	if !errors.Is(err, broken) || len(got) != 1 {
		t.Errorf("got %v and error %v, want one event, then the source's error", got, err)
	}
}

// FuzzNext holds that how a stream is cut into reads changes nothing, and that no data exceeds the bound.
func FuzzNext(f *testing.F) {
	for _, seed := range []string{
		"data: a\r\n\r\n", "id: 1\rdata: x\r\r", "\xef\xbb\xbfdata\n\n", ": c\nevent: e\ndata: {}\ndata: {}\n\nretry: 5\n\n", "data: \x00\n", "\r\n\n\r",
	} {
		f.Add([]byte(seed), uint8(3))
	}
	f.Fuzz(func(t *testing.T, stream []byte, step uint8) {
		const limit = 64
		whole := NewReader(bytes.NewReader(stream), limit)
		want, wantErr := readAll(whole)
		parts := NewReader(&stepReader{data: stream, step: int(step%7) + 1}, limit)
		got, gotErr := readAll(parts)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("cut into reads of %d (-whole +parts):\n%s", step%7+1, diff)
		}
		if errors.Is(wantErr, io.EOF) != errors.Is(gotErr, io.EOF) || whole.LastID() != parts.LastID() || whole.Retry() != parts.Retry() {
			t.Fatalf("ends differ: %v %q %v and %v %q %v", wantErr, whole.LastID(), whole.Retry(), gotErr, parts.LastID(), parts.Retry())
		}
		for _, b := range got {
			if len(b.Data) > limit {
				t.Fatalf("%d bytes of data, the bound is %d", len(b.Data), limit)
			}
		}
	})
}

type stepReader struct {
	data []byte
	step int
}

func (s *stepReader) Read(p []byte) (int, error) {
	if len(s.data) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), s.step)], s.data)
	s.data = s.data[n:]
	return n, nil
}
