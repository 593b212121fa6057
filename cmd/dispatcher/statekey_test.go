// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"toolgate.dev/toolgate/internal/registry/statekey"
)

// TestAKeyProvesTheAnswers of the pod that the environment names.
func TestAKeyProvesTheAnswers(t *testing.T) {
	t.Setenv(playServer, "1")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	key := statekey.Derive([statekey.Size]byte{1}, "server")
	dir := t.TempDir()
	file, keyFile := filepath.Join(dir, "registry.json"), filepath.Join(dir, statekey.FileName)
	if err := os.WriteFile(keyFile, key[:], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := run(t.Context(), "registry", "init", "--out", file, "--", self); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	logs, done := newTail(), make(chan error, 1)
	go func() {
		done <- Run(ctx, []string{"serve", "--registry", file, "--state-key-file", keyFile, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--stdio", "--", self},
			env{nil, io.Discard, logs, func(name string) string { return map[string]string{"POD_UID": "p1"}[name] }})
	}()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	url := "http://" + logs.find(t, regexp.MustCompile(`"for":"admin","address":"([^"]+)"`)) + "/state"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	nonce := statekey.NewNonce()
	req.Header.Set(statekey.HeaderNonce, nonce)
	req.Header.Set(statekey.HeaderProof, key.Proof(nonce))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	want := key.Code(statekey.Answer{Nonce: nonce, PodUID: "p1", Status: http.StatusOK, ETag: resp.Header.Get("ETag"), Body: body})
	if resp.StatusCode != http.StatusOK || resp.Header.Get(statekey.HeaderCode) != want {
		t.Errorf("status %d, code %q", resp.StatusCode, resp.Header.Get(statekey.HeaderCode))
	}
}

// TestNoDispatcherStartsWithoutItsKey, or the manager would believe none of its answers.
func TestNoDispatcherStartsWithoutItsKey(t *testing.T) {
	short := filepath.Join(t.TempDir(), statekey.FileName)
	if err := os.WriteFile(short, []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{short: "a key has 32 bytes, and these are 5", short + "-gone": "no such file"} {
		_, _, err := run(t.Context(), "serve", "--registry", "x", "--state-key-file", file)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
