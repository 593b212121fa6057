// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Command policies writes the ValidatingAdmissionPolicies that hold whatever loosens to a verb, from the table in
// internal/loosening. `make generate` runs it, in the root of the repository.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"toolgate.dev/toolgate/internal/loosening"
)

const folder = "config/admission"

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "policies:", err)
		os.Exit(1)
	}
}

func run() error {
	for _, g := range loosening.Guards {
		data, err := loosening.Manifest(g)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, g.Verb+".yaml"), data, 0o644); err != nil {
			return fmt.Errorf("writing the policy of verb %s: %w", g.Verb, err)
		}
	}
	return nil
}
