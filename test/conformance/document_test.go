// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"toolgate.dev/toolgate/internal/registry"
)

// document writes what `dispatcher registry init` finds at a source, trusted and with the limits out of the suite's way: it
// opens a session for each scenario, and tools are destructive unless they say that they are not.
func document(folder string, source ...string) (file string, err error) {
	file = filepath.Join(folder, registry.FileName)
	init := exec.Command(binaries.dispatcher, append([]string{"registry", "init", "--out", file}, source...)...)
	if out, err := init.CombinedOutput(); err != nil {
		return "", fmt.Errorf("registry init: %w\n%s", err, out)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	doc, err := registry.Decode(data)
	if err != nil {
		return "", err
	}
	doc.Policy.Trust.Trusted = true
	doc.Policy.Limits.MaxConcurrent, doc.Policy.Limits.MaxSessions = 1000, 1000
	doc.Policy.Client.SamplingTools, doc.Policy.Client.ElicitationURL = true, true
	// A scenario of the suite calls a tool with null for what the tool's own schema says is a boolean.
	doc.Policy.Validation.Arguments = registry.Warn
	if data, _, err = doc.Encode(); err != nil {
		return "", err
	}
	return file, os.WriteFile(file, data, 0o600)
}
