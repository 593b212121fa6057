// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package library_test

import (
	"fmt"
	"strings"
	"testing"

	"toolgate.dev/toolgate/controllers/decide"
	"toolgate.dev/toolgate/controllers/library"
	"toolgate.dev/toolgate/controllers/polled"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/registry/shard"
	"toolgate.dev/toolgate/internal/render/document"
)

// many is a server with as many tools, each under a name of 200 characters.
func many(tools int) document.Input {
	in := input()
	first := in.Tools[0]
	in.Tools = nil
	for i := range tools {
		tool := first
		tool.Name = fmt.Sprintf("files.tool-%04d", i)
		tool.Spec.ToolName = fmt.Sprintf("%04d.%s", i, strings.Repeat("x", 195))
		in.Tools = append(in.Tools, tool)
	}
	return in
}

// reads is a pod whose dispatcher says that it reads these versions, and enforces a document.
func reads(digest string, sequence int64, versions ...int) decide.Pod {
	return decide.Pod{Seen: polled.Observation{State: &registry.State{
		Supports: versions, Registry: registry.RegistryState{Digest: digest, Sequence: sequence},
	}}}
}

// TestEachPodGetsWhatItReads holds documents N and N-1 side by side.
func TestEachPodGetsWhatItReads(t *testing.T) {
	unheard := decide.Pod{}
	for name, tc := range map[string]struct {
		tools int
		pods  []decide.Pod
		// wantRoot says that there is a root with shards, wantPiece that the document of one piece beside it denies nothing.
		wantRoot, wantPiece bool
	}{
		"a small one is read by all":               {tools: 10, pods: []decide.Pod{reads("", 0, 1), reads("", 0, 1, 2)}, wantPiece: true},
		"a small one also for who reads shards":    {tools: 10, pods: []decide.Pod{reads("", 0, 1), reads("", 0, 2, 3)}, wantRoot: true, wantPiece: true},
		"a large one in shards":                    {tools: 320, pods: []decide.Pod{reads("", 0, 1, 2)}, wantRoot: true},
		"a large one also for who reads one piece": {tools: 320, pods: []decide.Pod{reads("", 0, 1), reads("", 0, 1, 2)}, wantRoot: true, wantPiece: true},
		"a large one before anybody has spoken":    {tools: 320, pods: []decide.Pod{unheard}, wantRoot: true, wantPiece: true},
		"a large one where nobody is":              {tools: 320, wantRoot: true},
		"one that is too large for one piece":      {tools: 1500, pods: []decide.Pod{reads("", 0, 1)}, wantRoot: true},
	} {
		t.Run(name, func(t *testing.T) {
			l := library.New()
			doc := render(t, l, many(tc.tools))
			files, err := doc.Next(library.Held{}, tc.pods)
			if err != nil {
				t.Fatal(err)
			}
			held := l.Read(key, files, files.Load)
			if held.Split != tc.wantRoot || held.Closed == tc.wantPiece {
				t.Fatalf("in shards: %v, one piece denies all: %v", held.Split, held.Closed)
			}
			if !doc.Is(held) || held.Sequence != 1 {
				t.Errorf("what was written is not the document: %+v", held)
			}
			// A pod that has either in force has nothing newer to get, so that nothing is written again.
			for _, digest := range []string{held.Digest, held.Piece} {
				versions := []int{1}
				if digest == held.Digest {
					versions = registry.Supported()
				}
				if len(tc.pods) > 0 {
					tc.pods[0] = reads(digest, 1, versions...)
				}
				again, err := doc.Next(held, tc.pods)
				if err != nil {
					t.Fatal(err)
				}
				if got := l.Read(key, again, again.Load); got.Sequence != 1 || got.Digest != held.Digest {
					t.Errorf("with %s in force it is written under sequence %d", digest, got.Sequence)
				}
			}
		})
	}
}

// TestAManagerThatHasHeardNothingChangesNothing is what a manager does at its start.
func TestAManagerThatHasHeardNothingChangesNothing(t *testing.T) {
	for name, pods := range map[string][]decide.Pod{
		"closed to one piece": {reads("", 0, 1, 2)}, "open to it": {reads("", 0, 1)}, "also in shards": {reads("", 0, 2)},
	} {
		for _, tools := range []int{10, 320} {
			t.Run(fmt.Sprint(name, " with ", tools, " tools"), func(t *testing.T) {
				before, err := render(t, library.New(), many(tools)).Next(library.Held{}, pods)
				if err != nil {
					t.Fatal(err)
				}
				l := library.New()
				after, err := render(t, l, many(tools)).Next(l.Read(key, before, before.Load), []decide.Pod{{}})
				if err != nil {
					t.Fatal(err)
				}
				for name := range before {
					if string(after[name]) != string(before[name]) || len(after) != len(before) {
						t.Errorf("%s is written anew", name)
					}
				}
			})
		}
	}
}

func TestADocumentWhoseShardsDoNotFitIsWrittenAnewAboveIt(t *testing.T) {
	l := library.New()
	doc := render(t, l, many(320))
	files, err := doc.Next(library.Held{}, []decide.Pod{reads("sha256:else", 6, 1, 2)})
	if err != nil {
		t.Fatal(err)
	}
	torn := l.Read(key, files, shard.Files{}.Load)
	if torn.Sequence != 7 || torn.Content != "" || doc.Is(torn) {
		t.Fatalf("without its shards it is %+v", torn)
	}
	if whole := l.Read(key, files, files.Load); !doc.Is(whole) {
		t.Errorf("what was read without its shards is remembered: %+v", whole)
	}
	next, err := doc.Next(torn, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := shard.Sequence(next[shard.RootFile]); got != 8 {
		t.Errorf("the next has sequence %d, want 8", got)
	}
}
