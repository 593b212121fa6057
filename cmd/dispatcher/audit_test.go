// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What a dispatcher has written is whole, and tells of a call that passed and of one that did not.
func TestTheRecordsOfARun(t *testing.T) {
	t.Setenv(playServer, "1")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	document, records := filepath.Join(dir, "registry.json"), filepath.Join(dir, "audit.jsonl")
	if _, stderr, err := run(t.Context(), "registry", "init", "--out", document, "--", self); err != nil {
		t.Fatalf("registry init: %v, %s", err, stderr)
	}
	file, err := os.Create(records)
	if err != nil {
		t.Fatal(err)
	}
	url, stop := servingTo(t, file, "--registry", document, "--stdio", "--", self)
	untilAnswered(t, url, "said")
	post(t, url, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"say","arguments":{}}}`)
	post(t, url, `{"jsonrpc":`)
	if err := stop(); err != nil {
		t.Errorf("serve: %v", err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	stdout, _, err := run(t.Context(), "audit", "verify", records)
	if err != nil || !strings.Contains(stdout, "the chain holds") {
		t.Errorf("verify: %v, %s", err, stdout)
	}
	stdout, stderr, err := run(t.Context(), "audit", records)
	for _, want := range []string{`mcp:status "success"`, `mcp:status "rejected"`, `toolgate:reason "InvalidArguments"`, `toolgate:errorKind "ParseError"`} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the Turtle lacks %s", want)
		}
	}
	if err != nil || stderr != "" {
		t.Errorf("audit: %v, %s", err, stderr)
	}
}
