// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package stdio

import (
	"bytes"
	"os"
	"testing"
)

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = r.Close(), w.Close() })
	return r, w
}

func TestDirectWrites(t *testing.T) {
	message := []byte("{}\n")
	full := func(_ *direct, w *os.File) {
		d := &direct{}
		d.to(w)
		for written := true; written; {
			written = d.write(make([]byte, pipeBuf))
		}
	}
	for name, tc := range map[string]struct {
		before func(d *direct, w *os.File)
		data   []byte
		want   bool
	}{
		"a child that reads":                {nil, message, true},
		"a child that does not":             {full, message, false},
		"something waits for the writer":    {func(d *direct, _ *os.File) { d.queued.Add(1) }, message, false},
		"the writer writes":                 {func(d *direct, _ *os.File) { d.writing.Lock() }, message, false},
		"more than a pipe takes whole":      {nil, bytes.Repeat([]byte("x"), pipeBuf+1), false},
		"a pipe that is closed":             {func(_ *direct, w *os.File) { _ = w.Close() }, message, false},
		"a file that was never looked into": {func(d *direct, _ *os.File) { d.raw = nil }, message, false},
	} {
		t.Run(name, func(t *testing.T) {
			r, w := pipe(t)
			d := &direct{}
			d.to(w)
			if tc.before != nil {
				tc.before(d, w)
			}
			if got := d.write(tc.data); got != tc.want {
				t.Fatalf("written: %v", got)
			}
			if !tc.want {
				return
			}
			got := make([]byte, len(tc.data))
			if _, err := r.Read(got); err != nil || !bytes.Equal(got, tc.data) {
				t.Errorf("read %q, %v", got, err)
			}
		})
	}
}

func TestDirectWritesTakeNoMemory(t *testing.T) {
	r, w := pipe(t)
	d := &direct{}
	d.to(w)
	data, buffer := []byte("{}\n"), make([]byte, 16)
	if n := testing.AllocsPerRun(100, func() {
		if !d.write(data) {
			t.Fatal("not written")
		}
		if _, err := r.Read(buffer); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
