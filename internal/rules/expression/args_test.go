// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDecodeArgs(t *testing.T) {
	got, _, err := decodeArgs([]byte(`{"i":1,"neg":-9223372036854775808,"whole":1.0,"exp":1e3,"f":0.1,"third":1.5e-3,"big":9223372036854775808,"s":"a","b":[true,null]}`))
	want := map[string]any{"i": int64(1), "neg": int64(-9223372036854775808), "whole": int64(1), "exp": int64(1000), "f": 0.1, "third": 1.5e-3,
		"big": float64(9223372036854775808), "s": "a", "b": []any{true, nil}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, bad := range []string{`9223372036854775809`, `1e400`, `1e-400`, `0.12345678901234567890123`, `123456789012345678901234567890`} {
		if v, _, err := decodeArgs([]byte(`{"a":{"b/c":` + bad + `}}`)); err == nil {
			t.Errorf("%s is %v, want an error", bad, v)
		}
	}
}

func BenchmarkDecodeArgs(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := decodeArgs([]byte(`{"path":"/home/ann/notes/today.txt","mode":420,"flags":["a","b"],"opts":{"force":false}}`)); err != nil {
			b.Fatal(err)
		}
	}
}
