// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"bytes"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"toolgate.dev/toolgate/internal/schema/schematest"
	"toolgate.dev/toolgate/test/dataplane/scripted"
	"toolgate.dev/toolgate/test/dataplane/wildjson"
)

// sharedLists are the tool lists of real servers, recorded: beside the clone, since not all of them may be passed on.
const sharedLists = "../../../shared/data/tool-lists"

// TestToolLists holds the dispatcher to the tool lists of real servers: every tool is listed as its server lists it, a call
// that fits the tool's schema arrives in the bytes that were sent, and a call without one of the required arguments does not
// arrive at all.
func TestToolLists(t *testing.T) {
	files := must[[]string](t)(filepath.Glob("testdata/tool-lists/*.json"))
	shared := must[[]string](t)(filepath.Glob(filepath.Join(sharedLists, "*.json")))
	if len(shared) == 0 {
		t.Logf("only the lists of testdata: the others are not at %s", sharedLists)
	}
	if len(files) == 0 {
		t.Fatal("no tool lists")
	}
	var tools, refused atomic.Int64
	t.Cleanup(func() {
		t.Logf("%d tools of real servers listed and called, %d calls refused for a missing argument", tools.Load(), refused.Load())
	})
	for _, file := range append(files, shared...) {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		if slices.Contains(shared, file) && slices.Contains(files, filepath.Join("testdata/tool-lists", name+".json")) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			listed, calls := checkList(t, file)
			tools.Add(int64(listed))
			refused.Add(int64(calls))
		})
	}
}

// checkList returns how many tools were listed and called, and how many calls were refused.
func checkList(t *testing.T, file string) (listed, refused int) {
	c := newChild(t, scripted.Good)
	c.Tools = must[string](t)(filepath.Abs(file))
	want := map[string]json.RawMessage{}
	for _, d := range c.definitions() {
		if !taskRequired(t, d) {
			want[nameOf(t, d)] = d
		}
	}
	d := serve(t, document(t, c.definitions()...), c.command()...).ready()
	s := d.session(latest)
	names, got := s.tools()
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), names); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	for _, name := range names {
		sameDefinition(t, want[name], got[name])
		refused += callTool(t, c, s, want[name])
	}
	return len(names), refused
}

// sameDefinition compares two definitions byte by byte, but for execution.taskSupport, which is not served.
func sameDefinition(t *testing.T, want, got json.RawMessage) {
	t.Helper()
	wantMembers, gotMembers := members(t, want), members(t, got)
	if execution, ok := wantMembers["execution"]; ok {
		values := members(t, []byte(execution))
		delete(values, "taskSupport")
		if diff := cmp.Diff(values, members(t, []byte(gotMembers["execution"]))); diff != "" {
			t.Errorf("execution (-want +got):\n%s", diff)
		}
		delete(wantMembers, "execution")
		delete(gotMembers, "execution")
	} else if !bytes.Equal(want, got) {
		t.Errorf("definition\n%s\nwant\n%s", got, want)
	}
	if diff := cmp.Diff(wantMembers, gotMembers); diff != "" {
		t.Errorf("definition (-want +got):\n%s", diff)
	}
}

func members(t *testing.T, object []byte) map[string]string {
	t.Helper()
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(object, &raw); err != nil {
		t.Fatalf("%v: %s", err, object)
	}
	texts := map[string]string{}
	for key, value := range raw {
		texts[key] = string(value)
	}
	return texts
}

func taskRequired(t *testing.T, definition []byte) bool {
	t.Helper()
	var tool struct {
		Execution struct{ TaskSupport string }
	}
	if err := json.Unmarshal(definition, &tool); err != nil {
		t.Fatal(err)
	}
	return tool.Execution.TaskSupport == "required"
}

// callTool calls a tool with arguments that fit, and without each of those that it needs. It returns how many it refused.
func callTool(t *testing.T, c *child, s *client, definition json.RawMessage) int {
	t.Helper()
	var tool struct {
		Name        string
		InputSchema json.RawMessage
	}
	if err := json.Unmarshal(definition, &tool); err != nil {
		t.Fatal(err)
	}
	instance, err := schematest.Instance(tool.InputSchema)
	if err != nil {
		t.Fatalf("%s: %v", tool.Name, err)
	}
	required := must[[]string](t)(schematest.Required(tool.InputSchema))
	before := c.read()
	for _, name := range required {
		rest := must[[]byte](t)(schematest.Without(instance, name))
		a := s.call(tool.Name, string(rest))
		if r := a.refusal(); r.Kind != "SchemaError" || r.Tool != tool.Name || a.status != 200 || a.Error != nil {
			t.Errorf("%s without %s: %d %s", tool.Name, name, a.status, a.body)
		}
	}
	if after := c.read(); after != before {
		t.Errorf("%s: %q reached the server with calls that were refused", tool.Name, strings.TrimPrefix(after, before))
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, instance, "\t", "  "); err != nil {
		t.Fatal(err)
	}
	if a := s.call(tool.Name, indented.String()); a.Error != nil || a.refusal().Kind != "" {
		t.Errorf("%s with %s: %s", tool.Name, instance, a.body)
		return len(required)
	}
	calls := c.calls()
	var params struct{ Arguments json.RawMessage }
	if err := json.Unmarshal(calls[len(calls)-1], &params); err != nil {
		t.Fatal(err)
	}
	if want := wildjson.OneLine(indented.Bytes()); !bytes.Equal(params.Arguments, want) {
		t.Errorf("%s got %s, was sent %s", tool.Name, params.Arguments, want)
	}
	return len(required)
}
