// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/policy"
)

// brittle is a writer that fails while down is set.
type brittle struct {
	bytes.Buffer
	down bool
}

func (b *brittle) Write(p []byte) (int, error) {
	if b.down {
		return 0, errors.New("disk full")
	}
	return b.Buffer.Write(p)
}

func lines(t *testing.T, data []byte) []Record {
	t.Helper()
	var records []Record
	previous := ""
	for scanner := bufio.NewScanner(bytes.NewReader(data)); scanner.Scan(); {
		line := append(bytes.Clone(scanner.Bytes()), '\n')
		var r Record
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		if r.Previous != previous {
			t.Errorf("record %d: chain broken: prev %q, want %q", r.Sequence, r.Previous, previous)
		}
		sum := sha256.Sum256(line)
		previous = "sha256:" + hex.EncodeToString(sum[:])
		records = append(records, r)
	}
	return records
}

func TestChainHoldsUnderConcurrentWriters(t *testing.T) {
	var out bytes.Buffer
	log := New(&out)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if _, err := log.Write(Record{Time: time.Unix(1, 0), Server: "s", Outcome: Success}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got := len(lines(t, out.Bytes())); got != 400 {
		t.Errorf("got %d records, want 400", got)
	}
}

func TestLostRecordsLeaveAGap(t *testing.T) {
	out := &brittle{}
	log := New(out)
	write := func() error {
		_, err := log.Write(Record{Server: "s", Outcome: Success})
		return err
	}
	if err := write(); err != nil {
		t.Fatal(err)
	}
	out.down = true
	for range 3 {
		if err := write(); err == nil {
			t.Fatal("a record that was not written was reported as written")
		}
	}
	out.down = false
	if err := write(); err != nil {
		t.Fatal(err)
	}
	records := lines(t, out.Bytes())
	if len(records) != 3 || records[1].Outcome != Gap || records[1].Lost != 3 {
		t.Errorf("got %+v, want a gap of 3 between two records", records)
	}
}

func TestLinesStayWithinTheirBound(t *testing.T) {
	cases := map[string]Record{
		"a tool with an endless name": {Tool: strings.Repeat("名\x00", 20000)},
		"many long stages":            {Stages: manyStages(40), Method: "tools/call"},
		"many audited rules":          {Audited: strings.Split(strings.Repeat("a-set/and-a-rule,", 5000), ",")},
		"everything long at once": {
			Tool: strings.Repeat("t", 1<<20), Caller: strings.Repeat("\"", 1<<20), Rule: strings.Repeat("\n", 1<<20),
			Client: strings.Repeat("é", 1<<20), Stages: manyStages(12),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if _, err := New(&out).Write(tc); err != nil {
				t.Fatal(err)
			}
			if out.Len() > MaxLine {
				t.Errorf("line of %d bytes, want at most %d", out.Len(), MaxLine)
			}
			lines(t, out.Bytes())
		})
	}
}

func manyStages(n int) []policy.StageResult {
	stages := make([]policy.StageResult, n)
	for i := range stages {
		stages[i] = policy.StageResult{Stage: policy.StageRules, Verdict: policy.Refuse, Message: strings.Repeat("m", 2000)}
	}
	return stages
}

func TestDigestsAreKeyed(t *testing.T) {
	a, b := New(&bytes.Buffer{}), New(&bytes.Buffer{})
	value := []byte(`{"path":"/etc/passwd"}`)
	if first, again := a.Digest(value), a.Digest(value); first != again {
		t.Error("one log gives two digests for one value")
	}
	if a.Digest(value) == b.Digest(value) {
		t.Error("two runs give one digest: anybody could guess arguments")
	}
	if a.Digest(nil) != "" {
		t.Error("an absent value has a digest")
	}
}
