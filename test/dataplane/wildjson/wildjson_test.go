// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wildjson_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"testing"

	"toolgate.dev/toolgate/test/dataplane/wildjson"
)

func TestWhatIsMadeIsValidAndTheSameEachTime(t *testing.T) {
	make1 := func(seed uint64, lines bool) [][]byte {
		g := wildjson.Generator{Rand: rand.New(rand.NewPCG(seed, 0)), Lines: lines}
		return [][]byte{g.Object(), g.Arguments(seed), g.Content()}
	}
	for seed := range uint64(500) {
		for i, made := range make1(seed, seed%2 == 0) {
			if !json.Valid(made) {
				t.Fatalf("seed %d, value %d is no JSON: %s", seed, i, made)
			}
			if again := make1(seed, seed%2 == 0)[i]; !bytes.Equal(made, again) {
				t.Fatalf("seed %d, value %d is another the second time", seed, i)
			}
			if seed%2 == 1 && bytes.ContainsAny(made, "\r\n") {
				t.Fatalf("seed %d, value %d has line breaks", seed, i)
			}
		}
	}
}

func TestOneLine(t *testing.T) {
	if got := string(wildjson.OneLine([]byte("{\r\n \"a\\n\":\t1}"))); got != "{   \"a\\n\":\t1}" {
		t.Errorf("OneLine = %q", got)
	}
}
