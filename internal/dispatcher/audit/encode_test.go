// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"encoding/json"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"toolgate.dev/toolgate/internal/dispatcher/policy"
)

// decoded reads a line back.
func decoded(t *testing.T, line []byte) (r Record) {
	t.Helper()
	if err := json.Unmarshal(line, &r); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return r
}

// sample is a record in which every member is set: one that is added later and not written fails the test below.
func sample() Record {
	r := Record{}
	v := reflect.ValueOf(&r).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.String:
			f.SetString(`text "` + strings.ToLower(v.Type().Field(i).Name) + "\" <&> \u2028 \n工具")
		case reflect.Int:
			f.SetInt(int64(i + 1))
		case reflect.Uint64:
			f.SetUint(uint64(i + 1))
		case reflect.Float64:
			f.SetFloat(12.345)
		default: // set below
		}
	}
	r.Previous = "sha256:00ff"
	r.Time = time.Date(2026, 7, 28, 1, 2, 3, 456789, time.UTC)
	r.Stages = []policy.StageResult{{Stage: policy.StageGate, Verdict: policy.Pass}, {Stage: policy.StageRules, Verdict: policy.Refuse, Rule: "a/b", Message: "No."}}
	r.Audited = []string{"set/rule", `"`}
	r.Omitted = []string{"result"}
	r.Arguments, r.Result = json.RawMessage(`{"a":[1,2]}`), json.RawMessage(`{"b":null}`)
	return r
}

func TestARecordIsWrittenByItsTags(t *testing.T) {
	whole := sample()
	for i, v := 0, reflect.ValueOf(whole); i < v.NumField(); i++ {
		if v.Field(i).IsZero() {
			t.Errorf("the sample has no %s", v.Type().Field(i).Name)
		}
	}
	for name, r := range map[string]Record{"every member": whole, "none": {}} {
		line := appendRecord(nil, &r, []byte(r.Previous))
		if diff := cmp.Diff(r, decoded(t, line)); diff != "" {
			t.Errorf("%s:\n%s\n%s", name, line, diff)
		}
		want, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var got, wanted map[string]json.RawMessage
		if json.Unmarshal(line, &got) != nil || json.Unmarshal(want, &wanted) != nil || len(got) != len(wanted) {
			t.Errorf("%s: %d members, want %d", name, len(got), len(wanted))
		}
	}
}

func TestAPayloadStaysOnItsLine(t *testing.T) {
	r := Record{Arguments: json.RawMessage("{\n\"a\":\r\n1}")}
	if line := appendRecord(nil, &r, nil); strings.Count(string(line), "\n") != 1 || strings.Contains(string(line), "\r") {
		t.Errorf("line breaks in %q", line)
	}
}

// A record takes no memory, and a digest one string: they are made for every call. The race detector lets pools forget,
// which the bound on digests allows for; without them a digest takes eleven.
func TestAllocations(t *testing.T) {
	log, r, value := New(io.Discard), sample(), []byte(`{"path":"/a"}`)
	if n := testing.AllocsPerRun(100, func() {
		if _, err := log.Write(r); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%.0f allocations for a record", n)
	}
	if n := testing.AllocsPerRun(100, func() { log.Digest(value) }); n > 5 {
		t.Errorf("%.0f allocations for a digest", n)
	}
}

func BenchmarkWrite(b *testing.B) {
	log, r := New(io.Discard), sample()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := log.Write(r); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDigest(b *testing.B) {
	log, value := New(io.Discard), []byte(strings.Repeat("x", 1<<10))
	b.SetBytes(int64(len(value)))
	b.ReportAllocs()
	for b.Loop() {
		log.Digest(value)
	}
}
