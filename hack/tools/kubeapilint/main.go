// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kubeapilint runs the analyzers of kube-api-linter over Go packages without golangci-lint, whose own way of taking
// them in builds a second golangci-lint from a clone of its repository.
//
// The first argument is a YAML file with the settings of kube-api-linter; the rest is as go vet takes it.
package main

import (
	"fmt"
	"os"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/multichecker"
	kubeapilinter "sigs.k8s.io/kube-api-linter"
	"sigs.k8s.io/yaml"
)

func main() {
	analyzers, err := load(os.Args)
	if err != nil {
		fmt.Fprintln(os.Stderr, "kubeapilint:", err)
		os.Exit(2)
	}
	os.Args = append(os.Args[:1], os.Args[2:]...)
	multichecker.Main(analyzers...)
}

// load reads the settings and returns the analyzers that they turn on.
func load(args []string) ([]*analysis.Analyzer, error) {
	if len(args) < 3 {
		return nil, fmt.Errorf("usage: kubeapilint SETTINGS.yaml PACKAGE...")
	}
	data, err := os.ReadFile(args[1])
	if err != nil {
		return nil, fmt.Errorf("reading the settings: %w", err)
	}
	var settings map[string]any
	if err := yaml.UnmarshalStrict(data, &settings); err != nil {
		return nil, fmt.Errorf("reading %s: %w", args[1], err)
	}
	plugin, err := kubeapilinter.New(settings)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", args[1], err)
	}
	return plugin.BuildAnalyzers()
}
