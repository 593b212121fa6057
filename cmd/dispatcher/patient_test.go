// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/audit"
	"toolgate.dev/toolgate/internal/dispatcher/audit/trail"
)

// A reader that stops holds nothing up for ever, and what it missed is told as soon as it reads again.
func TestAReaderThatStops(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }() // the writer's end is what counts
	log := audit.New(&patient{file: w, patience: time.Millisecond})
	record := audit.Record{Server: "s", Tool: strings.Repeat("t", 300), Outcome: audit.Success, Arguments: json.RawMessage(`"` + strings.Repeat("x", 6000) + `"`)}
	written, lost := 0, 0
	for lost < 3 {
		if _, err := log.Write(record); err == nil {
			written++
		} else if lost++; !errors.Is(err, errNotRead) {
			t.Fatal(err)
		}
	}
	if written == 0 {
		t.Fatal("nothing was written")
	}
	var out bytes.Buffer
	read := make(chan error, 1)
	go func() {
		_, err := io.Copy(&out, bufio.NewReader(r))
		read <- err
	}()
	for failed := true; failed; { // until the reader has made room
		_, err := log.Write(record)
		if failed = err != nil; failed {
			lost++
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-read; err != nil {
		t.Fatal(err)
	}
	var found []string
	s, err := trail.Read(&out, trail.Visitor{Found: func(f trail.Finding) { found = append(found, string(f.Kind)) }})
	if err != nil {
		t.Fatal(err)
	}
	if s.Records != written+2 || s.Lost != uint64(lost) {
		t.Errorf("%+v, want %d records and a gap of %d", s, written+1, lost)
	}
	if got := strings.Join(found, " "); got != "Gap" && got != "Cut Gap" {
		t.Errorf("found %s, want a gap, behind a line that may be cut", got)
	}
}

// A process whose records nobody reads any more goes on, and refuses what must be recorded.
func TestAReaderThatHasGone(t *testing.T) {
	t.Setenv(playServer, "1")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "registry.json")
	if _, stderr, err := run(t.Context(), "registry", "init", "--out", file, "--", self); err != nil {
		t.Fatalf("registry init: %v, %s", err, stderr)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	strict := strings.Replace(string(data), `"validation": {`, `"audit": {"onFailure": "Block"}, "validation": {`, 1)
	if err := os.WriteFile(file, []byte(strict), 0o600); err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	logs := newTail()
	process := exec.CommandContext(t.Context(), self, "serve", "--listen", "127.0.0.1:0", "--admin-listen", "", "--registry", file, "--stdio", "--", self)
	process.Stdout, process.Stderr = w, logs
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = process.Process.Signal(os.Interrupt) // an error is that it has ended
		_ = process.Wait()                       // how it ends is not this test's
	})
	_ = w.Close()
	url := "http://" + logs.find(t, regexp.MustCompile(`"for":"MCP","address":"([^"]+)"`)) + "/mcp"
	untilAnswered(t, url, "said")
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	untilAnswered(t, url, "NotRecorded")
}

func TestPatienceWithAFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	p := &patient{file: file, patience: time.Millisecond}
	text := strings.Repeat("x", 3*pipeBuf+7)
	if n, err := p.Write([]byte(text)); n != len(text) || err != nil {
		t.Errorf("wrote %d: %v", n, err)
	}
	if got, err := os.ReadFile(name); string(got) != text || err != nil {
		t.Errorf("%d bytes arrived: %v", len(got), err)
	}
	_ = file.Close()
	if _, err := p.Write([]byte("x")); err == nil {
		t.Error("a closed file took a write")
	}
}
