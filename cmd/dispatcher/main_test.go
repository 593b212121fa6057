// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestWhyItEndsIsLeftWhereThereIsAPlaceForIt(t *testing.T) {
	there, absent := filepath.Join(t.TempDir(), "log"), filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(there, []byte("what was said before, at some length"), 0o600); err != nil {
		t.Fatal(err)
	}
	leave(there, "dispatcher: no")
	leave(absent, "dispatcher: no")
	if got, err := os.ReadFile(there); err != nil || string(got) != "dispatcher: no\n" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := os.Stat(absent); !os.IsNotExist(err) {
		t.Errorf("a file was made, or: %v", err)
	}
}
