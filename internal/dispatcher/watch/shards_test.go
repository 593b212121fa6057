// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/registry/shard"
)

// large are the files of a document in shards. Every tool and the timeout say which generation they are of.
func large(t *testing.T, generation int, form shard.Form, tools int) shard.Files {
	t.Helper()
	doc, err := registry.Decode(document(t, 1, "r1"))
	if err != nil {
		t.Fatal(err)
	}
	doc.Policy.TimeoutSeconds = generation
	rev := registry.Revision{}
	for i := range tools {
		rev.Tools = append(rev.Tools, registry.Tool{Name: fmt.Sprint("tool", i), Digest: fmt.Sprintf("v1:sha256:%064d", i), TimeoutSeconds: generation})
	}
	doc.Revisions["r1"] = rev
	plan, err := shard.NewPlan(doc)
	if err != nil {
		t.Fatal(err)
	}
	files, err := plan.Files(int64(generation), form)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// onlyOne says of which generation a snapshot is, and fails if it is of several.
func onlyOne(t *testing.T, s *registry.Snapshot, tools int) int {
	t.Helper()
	generation := s.Document().Policy.TimeoutSeconds
	if len(s.Tools()) != tools || int(s.Document().Sequence) != generation {
		t.Fatalf("%d tools under sequence %d in generation %d", len(s.Tools()), s.Document().Sequence, generation)
	}
	for _, tool := range s.Tools() {
		if tool.TimeoutSeconds != generation {
			t.Fatalf("tool %s is of generation %d, the policy of %d", tool.Name, tool.TimeoutSeconds, generation)
		}
	}
	return generation
}

// TestADirectoryThatIsHalfUpdatedChangesNothing brings files into a directory one by one, in any order, with removals in between.
func TestADirectoryThatIsHalfUpdatedChangesNothing(t *testing.T) {
	const tools = 40
	cut := shard.Form{ShardReaders: true}
	generations := []shard.Files{large(t, 1, cut, tools), large(t, 2, cut, tools), large(t, 3, shard.Form{}, tools), large(t, 4, cut, tools)}
	for round := range 6 {
		t.Run(fmt.Sprint("order ", round), func(t *testing.T) {
			random := rand.New(rand.NewPCG(uint64(round), 1))
			dir := t.TempDir()
			w := New(Options{Path: dir, Revision: "r1", Log: slog.New(slog.DiscardHandler), Report: func(Status) {},
				Apply: func(s *registry.Snapshot) error { onlyOne(t, s, tools); return nil }})
			if w.Reload() == nil || w.Status().Error == "" {
				t.Fatal("an empty directory is taken for a document")
			}
			for g, files := range generations {
				names := slices.Sorted(maps.Keys(files))
				for _, gone := range append(shard.Names(), shard.RootFile) {
					if _, kept := files[gone]; !kept {
						names = append(names, gone)
					}
				}
				random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
				for _, name := range names {
					put(t, filepath.Join(dir, name), files[name])
					err := w.Reload()
					if s := w.Status(); g > 0 && (s.Error != "" || err != nil || s.Snapshot == nil) {
						t.Fatalf("after %s of %v: %v, status %+v", name, names, err, s)
					}
				}
				if got := w.Status(); got.Error != "" || onlyOne(t, got.Snapshot, tools) != g+1 {
					t.Fatalf("when all files have arrived: %+v, want generation %d", got, g+1)
				}
			}
		})
	}
}

// put writes a file as a whole; nil removes it.
func put(t *testing.T, path string, data []byte) {
	t.Helper()
	err := os.Remove(path)
	if data != nil {
		err = os.WriteFile(path+".new", data, 0o600)
		if err == nil {
			err = os.Rename(path+".new", path)
		}
	}
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
}

// TestAShardThatIsChangedUnderItsRootIsNotTaken holds also where the file that was read first has not changed.
func TestAShardThatIsChangedUnderItsRootIsNotTaken(t *testing.T) {
	files := large(t, 1, shard.Form{ShardReaders: true}, 40)
	dir := t.TempDir()
	for name, data := range files {
		put(t, filepath.Join(dir, name), data)
	}
	other := large(t, 2, shard.Form{ShardReaders: true}, 40)
	put(t, filepath.Join(dir, shard.File(2)), other[shard.File(2)])
	w := New(Options{Path: filepath.Join(dir, shard.RootFile), Revision: "r1", Log: slog.New(slog.DiscardHandler), Report: func(Status) {},
		Apply: func(*registry.Snapshot) error { return nil }})
	for range 2 {
		checkError(t, w.Reload(), "shard-2.json.gz is sha256:")
	}
	if s := w.Status(); s.Snapshot != nil || s.Error == "" {
		t.Fatalf("status %+v", s)
	}
	put(t, filepath.Join(dir, shard.File(2)), files[shard.File(2)])
	if err := w.Reload(); err != nil || onlyOne(t, w.Status().Snapshot, 40) != 1 || w.Status().Error != "" {
		t.Errorf("the shard has come and the document is not in force: %v, %+v", err, w.Status())
	}
	doc, digest, err := Read(dir)
	if err != nil || digest != w.Status().Snapshot.Digest() || len(doc.Revisions["r1"].Tools) != 40 {
		t.Errorf("read from its directory: %v, digest %s", err, digest)
	}
}

// TestANameThatIsNotVisibleYetIsRead: when a document first grows into shards, the kubelet swaps what the directory's names lead to before
// it makes the new names, and the one piece that is there under a known name is the one that closes old dispatchers.
func TestANameThatIsNotVisibleYetIsRead(t *testing.T) {
	const tools = 40
	dir := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	put := func(folder string, files shard.Files) {
		t.Helper()
		must(os.Mkdir(filepath.Join(dir, folder), 0o750))
		for name, data := range files {
			must(os.WriteFile(filepath.Join(dir, folder, name), data, 0o600))
		}
		must(os.Symlink(folder, filepath.Join(dir, "..tmp")))
		must(os.Rename(filepath.Join(dir, "..tmp"), filepath.Join(dir, "..data")))
	}
	var seen []int
	w := New(Options{Path: dir, Revision: "r1", Log: slog.New(slog.DiscardHandler), Report: func(Status) {},
		Apply: func(s *registry.Snapshot) error { seen = append(seen, onlyOne(t, s, tools)); return nil }})
	put("..1", large(t, 1, shard.Form{}, tools))
	must(os.Symlink(filepath.Join("..data", registry.FileName), filepath.Join(dir, registry.FileName)))
	must(w.Reload())
	cut := large(t, 2, shard.Form{ShardReaders: true}, tools)
	cut[registry.FileName] = large(t, 3, shard.Form{}, 0)[registry.FileName]
	put("..2", cut)
	must(w.Reload())
	if !slices.Equal(seen, []int{1, 2}) {
		t.Errorf("in force were %v", seen)
	}
	// What was resolved may be gone before it is read.
	load := loadFrom(dir)
	put("..3", large(t, 4, shard.Form{}, tools))
	must(os.RemoveAll(filepath.Join(dir, "..2")))
	if data, err := load(registry.FileName); err != nil || len(data) == 0 {
		t.Errorf("%d bytes, %v", len(data), err)
	}
}
