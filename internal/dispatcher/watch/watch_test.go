// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"toolgate.dev/toolgate/internal/registry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func document(t *testing.T, sequence int64, revisions ...string) []byte {
	t.Helper()
	doc := &registry.Document{
		Version: registry.Version, Sequence: sequence,
		Server:   registry.Server{Namespace: "default", Name: "files"},
		Upstream: registry.Upstream{Transport: registry.TransportStdio, Isolation: registry.IsolationSession},
		Policy: registry.Policy{
			TimeoutSeconds: 30,
			Limits:         registry.Limits{MaxConcurrent: 10, MaxSessions: 10, SessionIdleSeconds: 60, MaxRequestBytes: 1 << 20, MaxResponseBytes: 1 << 20},
			Health:         registry.Health{IntervalSeconds: 15, TimeoutSeconds: 5, FailureThreshold: 3},
			Discovery:      registry.Discovery{TTLSeconds: 300},
			Trust:          registry.Trust{MaxStalenessSeconds: 600},
			Validation:     registry.Validation{Arguments: registry.Enforce, Results: registry.Warn},
		},
		Revisions: map[string]registry.Revision{},
	}
	for _, r := range revisions {
		doc.Revisions[r] = registry.Revision{}
	}
	data, _, err := doc.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// volume is a directory as the kubelet fills it: the file is a symlink through ..data, which is swapped.
type volume struct {
	t   *testing.T
	dir string
	n   int
}

func (v *volume) put(data []byte) {
	v.t.Helper()
	v.n++
	dir := filepath.Join(v.dir, "..v"+string(rune('0'+v.n)))
	v.must(os.Mkdir(dir, 0o755))
	v.must(os.WriteFile(filepath.Join(dir, registry.FileName), data, 0o644))
	v.must(os.Symlink(filepath.Base(dir), filepath.Join(v.dir, "..tmp")))
	v.must(os.Rename(filepath.Join(v.dir, "..tmp"), filepath.Join(v.dir, "..data")))
	if v.n == 1 {
		v.must(os.Symlink(filepath.Join("..data", registry.FileName), v.path()))
	}
}

func (v *volume) path() string { return filepath.Join(v.dir, registry.FileName) }

func (v *volume) must(err error) {
	v.t.Helper()
	if err != nil {
		v.t.Fatal(err)
	}
}

func TestReload(t *testing.T) {
	cases := map[string]struct {
		revision  string
		files     []string // name of a document, in order
		wantSeq   int64
		wantError string
		wantKnown bool
	}{
		"the first document is taken":                            {revision: "r1", files: []string{"one"}, wantSeq: 1, wantKnown: true},
		"a newer document replaces it":                           {revision: "r1", files: []string{"one", "two"}, wantSeq: 2, wantKnown: true},
		"a lower sequence is refused and the document stays":     {revision: "r1", files: []string{"two", "one"}, wantSeq: 2, wantKnown: true, wantError: "sequence 1 is lower than 2"},
		"a broken document is refused and the last one stays":    {revision: "r1", files: []string{"one", "broken"}, wantSeq: 1, wantKnown: true, wantError: "not JSON"},
		"an unknown member is refused, since it might restrict":  {revision: "r1", files: []string{"one", "unknown"}, wantSeq: 1, wantKnown: true, wantError: "surprise"},
		"a good document after a broken one clears the error":    {revision: "r1", files: []string{"one", "broken", "two"}, wantSeq: 2, wantKnown: true},
		"a revision that is not named denies all and is unknown": {revision: "r9", files: []string{"one"}, wantSeq: 1},
		"a document that cannot be put in force is refused":      {revision: "r1", files: []string{"one", "seven"}, wantSeq: 1, wantKnown: true, wantError: "no way to that server"},
		"at a desk the only revision is taken":                   {files: []string{"one"}, wantSeq: 1, wantKnown: true},
		"at a desk one of several revisions must be named":       {files: []string{"both"}, wantError: "--revision"},
	}
	documents := map[string][]byte{
		"one": document(t, 1, "r1"), "two": document(t, 2, "r1"), "both": document(t, 3, "r1", "r2"),
		"seven": document(t, 7, "r1"), "broken": []byte(`{"version":1,`),
		"unknown": []byte(strings.Replace(string(document(t, 4, "r1")), `"sequence"`, `"surprise":1,"sequence"`, 1)),
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			v := &volume{t: t, dir: t.TempDir()}
			var applied []int64
			w := New(Options{
				Path: v.path(), Revision: tc.revision, Log: slog.New(slog.DiscardHandler),
				Apply: func(s *registry.Snapshot) error {
					if s.Document().Sequence == 7 {
						return errors.New("no way to that server")
					}
					applied = append(applied, s.Document().Sequence)
					return nil
				},
				Report: func(Status) {},
			})
			var err error
			for _, file := range tc.files {
				v.put(documents[file])
				err = w.Reload()
			}
			checkError(t, err, tc.wantError)
			got := w.Status()
			if got.Error != errText(err) {
				t.Errorf("status says %q, Reload said %v", got.Error, err)
			}
			if tc.wantSeq == 0 {
				if got.Snapshot != nil {
					t.Error("a document is in force although none was good")
				}
				return
			}
			if got.Snapshot == nil || got.Snapshot.Document().Sequence != tc.wantSeq || got.Snapshot.Known() != tc.wantKnown {
				t.Errorf("in force: %+v, want sequence %d, revision known %v", got.Snapshot, tc.wantSeq, tc.wantKnown)
			}
			if applied[len(applied)-1] != tc.wantSeq {
				t.Errorf("applied %v, want %d last", applied, tc.wantSeq)
			}
		})
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func checkError(t *testing.T, err error, want string) {
	t.Helper()
	if want == "" && err != nil || !strings.Contains(errText(err), want) {
		t.Fatalf("error %v, want %q", err, want)
	}
}

func TestAMissingFileIsSaid(t *testing.T) {
	w := New(Options{Path: filepath.Join(t.TempDir(), "nothing.json"), Log: slog.New(slog.DiscardHandler), Report: func(Status) {}})
	checkError(t, w.Reload(), "no such file")
	if w.Status().Error == "" {
		t.Error("status does not say why there is no document")
	}
}

// Whoever waits for a pipe's writer never answers /state, and does not end when told to.
func TestAFileThatIsNoneIsNotWaitedFor(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, registry.FileName), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, dir, "/dev/zero"} {
		w := New(Options{Path: path, Log: slog.New(slog.DiscardHandler), Report: func(Status) {}})
		if err := w.Reload(); err == nil || !strings.Contains(err.Error(), "is no regular file") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestRunSeesASymlinkSwap(t *testing.T) {
	v := &volume{t: t, dir: t.TempDir()}
	v.put(document(t, 1, "r1"))
	applied := make(chan int64, 8)
	w := New(Options{
		Path: v.path(), Revision: "r1", Log: slog.New(slog.DiscardHandler), Report: func(Status) {},
		Apply: func(s *registry.Snapshot) error { applied <- s.Document().Sequence; return nil },
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- w.Run(ctx) }()
	if got := <-applied; got != 1 {
		t.Fatalf("first document has sequence %d, want 1", got)
	}
	v.put(document(t, 2, "r1"))
	if got := <-applied; got != 2 {
		t.Errorf("after the swap: sequence %d, want 2", got)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
