// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"

	"toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/render"
	"toolgate.dev/toolgate/internal/render/document"
	"toolgate.dev/toolgate/internal/render/workload"
	"toolgate.dev/toolgate/internal/rules"
)

// TestAcceptedServersCanBeRendered holds admission to refuse whatever the manager could not carry out.
func TestAcceptedServersCanBeRendered(t *testing.T) {
	files, err := filepath.Glob("testdata/mcpserver/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		tc := load(t, file)
		if tc.Refused != "" {
			continue
		}
		server := &v1alpha1.MCPServer{}
		if err := convert(tc.Object, server); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if why := render.Invalid(server); why != "" {
			t.Errorf("%s is accepted and can't be rendered: %s", file, why)
			continue
		}
		if _, err := workload.Deployment(server, workload.Platform{Image: "toolgate.dev/toolgate:test"}, workload.Live{}); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if _, err := workload.NetworkPolicy(server, workload.Platform{}); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// TestSampleRulesCompile compiles the RuleSets of the samples with the engine that enforces them.
func TestSampleRulesCompile(t *testing.T) {
	files, err := filepath.Glob(samples + "/ruleset-*.yaml")
	if err != nil || len(files) < 2 {
		t.Fatalf("want RuleSets among the samples, got %d: %v", len(files), err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range bytes.Split(data, []byte("\n---\n")) {
			set := &v1alpha1.RuleSet{}
			if err := yaml.UnmarshalStrict(text, set); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if _, faults := rules.Compile(document.RuleSet(set)); len(faults) > 0 {
				t.Errorf("%s does not compile: %v", file, faults)
			}
		}
	}
}
