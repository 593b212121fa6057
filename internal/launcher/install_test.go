// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package launcher

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestInstall(t *testing.T) {
	want, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	tests := map[string]struct{ dst, file string }{
		"into a directory":                {dst: dir, file: filepath.Join(dir, binaryName)},
		"as a file":                       {dst: filepath.Join(dir, "gate"), file: filepath.Join(dir, "gate")},
		"over the file of an earlier run": {dst: filepath.Join(dir, "gate"), file: filepath.Join(dir, "gate")},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if err := Install(tc.dst); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(tc.file)
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%d bytes instead of %d, %v", len(got), len(want), err)
			}
			if info, _ := os.Stat(tc.file); info.Mode().Perm() != 0o555 {
				t.Errorf("mode %v", info.Mode())
			}
		})
	}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			t.Errorf("%s was left behind", e.Name())
		}
	}
	if err := Install(filepath.Join(dir, "no", "dir", "gate")); err == nil || !strings.Contains(err.Error(), "installing to") {
		t.Errorf("Install into a directory that is not there: %v", err)
	}
}
