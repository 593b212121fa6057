// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"toolgate.dev/toolgate/internal/schema"
	"toolgate.dev/toolgate/internal/schema/schematest"
)

const toolListsDir = "../../../shared/data/tool-lists"

type tool struct {
	Name         string          `json:"name"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
}

// eachTool calls f for every tool of every recorded server.
func eachTool(t testing.TB, f func(server string, tool tool)) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(toolListsDir, "*.json"))
	if err != nil || len(files) == 0 {
		t.Skipf("the recorded tool lists are not there (%s)", toolListsDir)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var list struct {
			Tools []tool `json:"tools"`
		}
		if err := json.Unmarshal(raw, &list); err != nil {
			t.Fatal(err)
		}
		for _, tool := range list.Tools {
			f(strings.TrimSuffix(filepath.Base(file), ".json"), tool)
		}
	}
}

// TestRealTools: every schema of every recorded server compiles; arguments made from it are valid; each required
// argument left out in turn is refused with path and keyword.
func TestRealTools(t *testing.T) {
	var schemas, instances, omissions int
	eachTool(t, func(server string, tool tool) {
		name := server + "." + tool.Name
		s, err := schema.Compile(tool.InputSchema, schema.Options{RequireObject: true})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		schemas++
		if tool.OutputSchema != nil {
			if _, err := schema.Compile(tool.OutputSchema, schema.Options{}); err != nil {
				t.Errorf("%s: output: %v", name, err)
			}
			schemas++
		}
		args, err := schematest.Instance(tool.InputSchema)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		instances++
		omissions += refusesOmissions(t, name, s, tool.InputSchema, args)
	})
	t.Logf("%d schemas compiled, %d instances accepted, %d omissions refused", schemas, instances, omissions)
}

func refusesOmissions(t *testing.T, name string, s *schema.Schema, raw, args []byte) (omissions int) {
	t.Helper()
	required, err := schematest.Required(raw)
	if err != nil {
		t.Fatal(err)
	}
	for _, member := range required {
		less, err := schematest.Without(args, member)
		if err != nil {
			t.Fatalf("%s: %s: %v", name, member, err)
		}
		vs := s.Validate(less)
		if len(vs) == 0 || vs[0].Keyword != "required" || vs[0].Path != "" || !strings.Contains(vs[0].Message, `"`+member+`"`) {
			t.Errorf("%s without %s: %+v", name, member, vs)
		}
		omissions++
	}
	return omissions
}
