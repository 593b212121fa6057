// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package transcript compares dialogues in txtar files with what is heard when they are played again. How a dialogue is read is
// for the test to say. It is for tests alone, and imports nothing of this project.
package transcript

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "write what is heard into the transcripts")

// Play plays each file that the pattern names, in a subtest of the file's name without its ending: play replaces what the
// dialogue says was heard by what is. With -update the file then holds that; else a difference fails the test.
func Play(t *testing.T, pattern string, play func(t *testing.T, parts []txtar.File)) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts at %s: %v", pattern, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			want := string(txtar.Format(archive))
			play(t, archive.Files)
			got := txtar.Format(archive)
			if *update && !t.Failed() {
				if err := os.WriteFile(file, got, 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(want, string(got)); diff != "" {
				t.Errorf("transcript (-want +got):\n%s", diff)
			}
		})
	}
}
