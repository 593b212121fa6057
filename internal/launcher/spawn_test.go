// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package launcher

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestEnvironmentAndDirectory(t *testing.T) {
	o := options("env")
	o.Env = []string{modeVariable + "=env", "HOME=/nowhere"}
	onBoth(t, o, func(t *testing.T, s spawner) {
		p := spawn(t, s)
		defer mustClose(t, p)
		env := strings.Split(readLine(t, p), "\x00")
		if len(env) != 3 || env[0] != o.Env[0] || env[1] != o.Env[1] || !strings.HasPrefix(env[2], MarkVariable+"=") {
			t.Errorf("environment %q", env)
		}
	})
	o = options("cwd")
	o.Dir, _ = filepath.EvalSymlinks(t.TempDir())
	onBoth(t, o, func(t *testing.T, s spawner) {
		p := spawn(t, s)
		defer mustClose(t, p)
		if got := readLine(t, p); got != o.Dir {
			t.Errorf("working directory %q, wanted %q", got, o.Dir)
		}
	})
}

func TestSpawnSaysWhyNot(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	tests := map[string]struct {
		change  func(*ServeOptions)
		wantAll []string
	}{
		"a command that PATH does not hold": {
			change:  func(o *ServeOptions) { o.Command = []string{"no-such-server"} },
			wantAll: []string{`"no-such-server"`, "not found in PATH", "full path"},
		},
		"a path that is not there": {
			change:  func(o *ServeOptions) { o.Command = []string{"/no/such/server"} },
			wantAll: []string{`"/no/such/server"`, "does not exist"},
		},
		"a file without the execute bit": {
			change:  func(o *ServeOptions) { o.Command = []string{write("plain", "#!/bin/sh\n", 0o644)} },
			wantAll: []string{"plain", "may not be executed", "execute bit"},
		},
		"a directory": {
			change:  func(o *ServeOptions) { o.Command = []string{dir} },
			wantAll: []string{dir, "may not be executed"},
		},
		"a program for another machine": {
			change:  func(o *ServeOptions) { o.Command = []string{write("foreign", "\x7fELF\x02\x01\x01", 0o755)} },
			wantAll: []string{"foreign", "no program for this machine", "architecture"},
		},
		"a script whose interpreter is missing": {
			change:  func(o *ServeOptions) { o.Command = []string{write("script", "#!/no/such/node\n", 0o755)} },
			wantAll: []string{"script", "interpreter", "image"},
		},
		"a working directory that is missing": {
			change:  func(o *ServeOptions) { o.Dir = "/no/such/dir" },
			wantAll: []string{`"/no/such/dir"`, "working directory"},
		},
		"arguments that are too long": {
			change:  func(o *ServeOptions) { o.Command = append(o.Command, strings.Repeat("x", 1<<20)) },
			wantAll: []string{"more arguments", "shorten"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			o := options("echo")
			tc.change(&o)
			onBoth(t, o, func(t *testing.T, s spawner) {
				_, err := s.Spawn(t.Context())
				var refused *SpawnError
				if !errors.As(err, &refused) {
					t.Fatalf("Spawn: %v, wanted a SpawnError", err)
				}
				for _, want := range tc.wantAll {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("%q does not say %q", err, want)
					}
				}
			})
		})
	}
}

func TestChildrenAreLimited(t *testing.T) {
	o := options("echo")
	o.MaxChildren = 1
	onBoth(t, o, func(t *testing.T, s spawner) {
		p := spawn(t, s)
		_, err := s.Spawn(t.Context())
		var refused *SpawnError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), "limit") {
			t.Errorf("the second child: %v", err)
		}
		mustClose(t, p)
		_ = waitExit(t, p)
		eventually(t, "its place is free", func() bool {
			next, err := s.Spawn(t.Context())
			if err == nil {
				mustClose(t, next)
			}
			return err == nil
		})
	})
}
