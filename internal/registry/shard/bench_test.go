// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package shard_test

import (
	"fmt"
	"testing"

	"toolgate.dev/toolgate/internal/registry/shard"
)

// BenchmarkEncode makes the files of a whole document, as the manager does after each change of one.
func BenchmarkEncode(b *testing.B) {
	for _, tools := range []int{100, 1000, 10000} {
		doc := document(tools, "r1", "r2")
		b.Run(fmt.Sprint(tools), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, total := objectSizes(b, files(b, plan(b, doc), 3, shard.Form{}))
				b.ReportMetric(float64(total), "object-bytes")
			}
		})
	}
}

// BenchmarkDecode reads all files, as each dispatcher does after each change.
func BenchmarkDecode(b *testing.B) {
	for _, tools := range []int{100, 1000, 10000} {
		f := files(b, plan(b, document(tools, "r1", "r2")), 3, shard.Form{})
		b.Run(fmt.Sprint(tools), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				decode(b, f)
			}
		})
	}
}
