// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package library_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"toolgate.dev/toolgate/controllers/decide"
	"toolgate.dev/toolgate/controllers/library"
)

func TestAnswered(t *testing.T) {
	type attempt struct {
		after   time.Duration
		refused string
		err     string
		told    string
	}
	for name, attempts := range map[string][]attempt{
		"what goes well is not told":                      {{}, {after: time.Hour}},
		"a verdict is told at once, until what goes well": {{refused: "no", told: "no"}, {}},
		"an attempt without an answer is not told before it is for long": {
			{err: "a"}, {after: 9 * time.Second, err: "b"}, {after: time.Second, err: "c", told: "c"},
		},
		"what is told stays, however it is worded, until an answer": {
			{err: "a"}, {after: time.Minute, err: "b", told: "b"}, {after: time.Minute, err: "c", told: "b"}, {}, {err: "d"},
		},
		"an answer between begins anew":                      {{err: "a"}, {after: 9 * time.Second}, {after: 9 * time.Second, err: "b"}},
		"a verdict stays without an answer":                  {{refused: "no", told: "no"}, {err: "a", told: "no"}, {after: time.Hour, err: "b", told: "no"}},
		"a verdict takes the place of what went without":     {{err: "a"}, {after: time.Hour, err: "b", told: "b"}, {refused: "no", told: "no"}},
		"time before a verdict does not count after it":      {{err: "a"}, {after: time.Hour, refused: "no", told: "no"}, {}, {err: "b"}},
		"one that is done with for an hour has no say of it": {{err: "a"}, {}, {after: time.Hour, err: "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			l, key, now := library.New(), types.NamespacedName{Namespace: "ns", Name: "files"}, time.Unix(1000, 0)
			refusal := func(text string) (out decide.Refusal) {
				if text != "" {
					out = decide.Refusal{Reason: "ApplyFailed", Message: text}
				}
				return out
			}
			for i, a := range attempts {
				now = now.Add(a.after)
				made := library.Attempt{At: now, Refused: refusal(a.refused)}
				if a.err != "" {
					made.Err = errors.New(a.err)
				}
				// Another child that fails has no part in it.
				l.Answered(key, "other", library.Attempt{At: now, Err: errors.New("other")})
				if diff := cmp.Diff(refusal(a.told), l.Answered(key, "Service", made)); diff != "" {
					t.Errorf("attempt %d (-want +got)\n%s", i, diff)
				}
			}
		})
	}
}

// TestWhatNobodyTriesAnyMoreIsForgotten: its time without an answer begins anew, and that of others goes on.
func TestWhatNobodyTriesAnyMoreIsForgotten(t *testing.T) {
	l, key, now := library.New(), types.NamespacedName{Namespace: "ns", Name: "files"}, time.Unix(1000, 0)
	fails := func(child string) decide.Refusal {
		return l.Answered(key, child, library.Attempt{At: now, Err: errors.New("no answer")})
	}
	l.Abandon(key, func(string) bool { return true })
	fails("MCPTool gone")
	fails("Service")
	l.Abandon(key, func(child string) bool { return child == "MCPTool gone" })
	now = now.Add(library.Silence)
	if told := fails("MCPTool gone"); told != (decide.Refusal{}) {
		t.Errorf("what was forgotten is told of: %v", told)
	}
	if told := fails("Service"); told == (decide.Refusal{}) {
		t.Error("another child was forgotten with it")
	}
}
