// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kubeapilint runs the analyzers of kube-api-linter over Go packages without golangci-lint, whose own way of taking
// them in builds a second golangci-lint from a clone of its repository.
//
// The first argument is a YAML file with the settings of kube-api-linter and the exceptions from them; the rest is as go vet
// takes it.
package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/multichecker"
	kubeapilinter "sigs.k8s.io/kube-api-linter"
	"sigs.k8s.io/yaml"
)

// settings is the file: what to check, and what to let pass.
type settings struct {
	Linters       map[string]any `json:"linters"`
	LintersConfig map[string]any `json:"lintersConfig"`
	Exceptions    []exception    `json:"exceptions"`
}

// exception lets findings of one linter pass whose message matches.
type exception struct {
	Linter  string `json:"linter"`
	Message string `json:"message"`
	Reason  string `json:"reason"`

	pattern *regexp.Regexp
}

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
		return nil, errors.New("usage: kubeapilint SETTINGS.yaml PACKAGE")
	}
	data, err := os.ReadFile(args[1])
	if err != nil {
		return nil, fmt.Errorf("reading the settings: %w", err)
	}
	var s settings
	if err := yaml.UnmarshalStrict(data, &s); err != nil {
		return nil, fmt.Errorf("reading %s: %w", args[1], err)
	}
	plugin, err := kubeapilinter.New(map[string]any{"linters": s.Linters, "lintersConfig": s.LintersConfig})
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", args[1], err)
	}
	analyzers, err := plugin.BuildAnalyzers()
	if err != nil {
		return nil, err
	}
	byLinter := map[string][]exception{}
	for _, e := range s.Exceptions {
		if e.pattern, err = regexp.Compile(e.Message); err != nil || e.Reason == "" {
			return nil, fmt.Errorf("%s: exception from %s: a message that compiles (%v) and a reason are needed", args[1], e.Linter, err)
		}
		byLinter[e.Linter] = append(byLinter[e.Linter], e)
	}
	for _, a := range analyzers {
		except(a, byLinter[a.Name])
	}
	return analyzers, nil
}

// except keeps an analyzer from reporting what an exception lets pass.
func except(a *analysis.Analyzer, exceptions []exception) {
	if len(exceptions) == 0 {
		return
	}
	run := a.Run
	a.Run = func(pass *analysis.Pass) (any, error) {
		report := pass.Report
		pass.Report = func(d analysis.Diagnostic) {
			for _, e := range exceptions {
				if e.pattern.MatchString(d.Message) {
					return
				}
			}
			report(d)
		}
		return run(pass)
	}
}
