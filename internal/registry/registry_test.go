// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/rules"
	"toolgate.dev/toolgate/internal/schema"
)

func document() *registry.Document {
	yes := true
	return &registry.Document{
		Version:  registry.Version,
		Sequence: 7,
		Server:   registry.Server{Namespace: "ns", Name: "files", Capabilities: []string{"a", "b"}, URL: "http://files.ns.svc/mcp"},
		Upstream: registry.Upstream{Transport: registry.TransportStdio, Isolation: registry.IsolationSession},
		Policy:   registry.Policy{TimeoutSeconds: 30, Validation: registry.Validation{Arguments: registry.Enforce, Results: registry.Warn}},
		Revisions: map[string]registry.Revision{
			"r1": {Tools: []registry.Tool{
				{Name: "delete", Digest: "v1:sha256:00", Hints: &registry.Hints{Destructive: &yes}},
				{Name: "read", Digest: "v1:sha256:01"},
			}},
			"r2": {Tools: []registry.Tool{}},
		},
		RuleSets: []rules.Set{{
			Name: "paths", Type: rules.TypePolicy, Format: rules.FormatCEL,
			Rules: []rules.Rule{{Name: "etc", Action: rules.Reject, When: `args.path < "<&>"`}},
		}},
	}
}

func encode(t *testing.T, d *registry.Document) (data []byte, digest string) {
	t.Helper()
	data, digest, err := d.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return data, digest
}

func TestDocumentComesBackFromItsBytes(t *testing.T) {
	data, digest := encode(t, document())
	if digest != registry.Digest(data) {
		t.Errorf("digest %s, of the bytes %s", digest, registry.Digest(data))
	}
	got, err := registry.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(document(), got, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
	again, _ := encode(t, got)
	if string(again) != string(data) {
		t.Error("encoding what was decoded gives other bytes")
	}
}

func TestEqualContentGivesEqualBytes(t *testing.T) {
	want, _ := encode(t, document())
	for range 50 {
		d := document()
		shuffle := func(n int, swap func(i, j int)) { rand.Shuffle(n, swap) }
		tools := d.Revisions["r1"].Tools
		shuffle(len(tools), func(i, j int) { tools[i], tools[j] = tools[j], tools[i] })
		d.Server.Capabilities = []string{"b", "a"}
		got, _ := encode(t, d)
		if string(got) != string(want) {
			t.Fatal("the order of lists shows in the bytes")
		}
	}
}

func TestEncodeLeavesTheDocumentAlone(t *testing.T) {
	d := document()
	slices.Reverse(d.Revisions["r1"].Tools)
	encode(t, d)
	if d.Revisions["r1"].Tools[0].Name != "read" {
		t.Error("Encode has sorted the caller's list")
	}
}

func TestDecodeRefuses(t *testing.T) {
	good, _ := encode(t, document())
	for name, tc := range map[string]struct {
		old, new string
		want     string
	}{
		"a later version":                 {`"version":1`, `"version":3`, "version 3 is not one that this release reads: [1 2]"},
		"the version of a root":           {`"version":1`, `"version":2`, "version 2 is the root of a document in shards"},
		"no version":                      {`"version":1,`, ``, "member version is missing"},
		"an unknown member":               {`"sequence":7`, `"sequence":7,"audience":"x"`, "member /audience is unknown"},
		"an unknown member of a tool":     {`"name":"read"`, `"name":"read","require":"x"`, "member /revisions/r1/tools/1/require is unknown"},
		"a member in another case":        {`"trust":{`, `"Trust":{`, `member /policy/Trust is unknown; did you mean "trust"?`},
		"a member twice":                  {`"sequence":7`, `"sequence":7,"sequence":8`, "member /sequence is there twice"},
		"a member twice, once escaped":    {`"sequence":7`, `"sequence":7,"sequenc\u0065":8`, "member /sequence is there twice"},
		"null for a restriction":          {`"trust":{"maxStalenessSeconds":0}`, `"trust":null`, "member /policy/trust is null"},
		"a string for a number":           {`"sequence":7`, `"sequence":"7"`, "member sequence"},
		"a fraction":                      {`"sequence":7`, `"sequence":7.5`, "sequence"},
		"a mode that is none":             {`"arguments":"Enforce"`, `"arguments":"enforce"`, `policy.validation.arguments "enforce" is not one of`},
		"a failure of audit that is none": {`"validation":{`, `"audit":{"onFailure":"Ignore"},"validation":{`, `policy.audit.onFailure "Ignore" is not one of`},
		"a collector that is no URL":      {`"upstream":{`, `"telemetry":{"otlpEndpoint":"collector:4318"},"upstream":{`, `telemetry.otlpEndpoint "collector:4318" is not an http or https URL`},
		"an empty redaction":              {`"validation":{`, `"audit":{"redact":[""]},"validation":{`, `policy.audit.redact/0 is empty`},
		"a transport that is none":        {`"transport":"stdio"`, `"transport":"pigeon"`, `upstream.transport "pigeon" is not one of`},
		"isolation by caller, whom nobody verifies": {`"isolation":"Session"`, `"isolation":"Caller"`,
			`upstream.isolation "Caller" is not one of Session, Shared; nothing can keep callers apart`},
		"an isolation that is none":     {`"isolation":"Session"`, `"isolation":"shared"`, `upstream.isolation "shared" is not one of`},
		"one tool twice":                {`"name":"read"`, `"name":"delete"`, `revisions/r1 has tool "delete" twice`},
		"a tool without a name":         {`"name":"read"`, `"name":""`, "has no name"},
		"a limit below nothing":         {`"maxConcurrent":0`, `"maxConcurrent":-1`, "policy.limits.maxConcurrent -1 is negative"},
		"an HTTP server without a URL":  {`"transport":"stdio"`, `"transport":"streamable-http"`, "is not an http or https URL"},
		"something after the end":       {`{"version":1`, `{}{"version":1`, ""},
		"what is not JSON":              {`{"version":1`, `version: 1`, "not JSON"},
		"a member twice within a rule":  {`"action":"Reject"`, `"action":"Reject","action":"Allow"`, "action is there twice"},
		"a document that breaks off":    {`]}` + "\n", ``, "not JSON"},
		"a list where an object is due": {`"upstream":{`, `"upstream":[],"x":{`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			data := strings.Replace(string(good), tc.old, tc.new, 1)
			if data == string(good) {
				t.Fatalf("%q is not in the document", tc.old)
			}
			_, err := registry.Decode([]byte(data))
			if err == nil {
				t.Fatal("it was taken")
			}
			if !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %q does not say %q", err, tc.want)
			}
		})
	}
}

func TestDecodeTakesWhatAPersonWrites(t *testing.T) {
	data, _ := encode(t, document())
	var pretty map[string]any
	if err := json.Unmarshal(data, &pretty); err != nil {
		t.Fatal(err)
	}
	indented, err := json.MarshalIndent(pretty, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := registry.Decode(indented); err != nil {
		t.Error(err)
	}
}

func TestSnapshotHoldsItsOwnRevisionAlone(t *testing.T) {
	d := document()
	for name, tc := range map[string]struct {
		revision  string
		wantKnown bool
		wantTools []string
	}{
		"a revision with tools":             {"r1", true, []string{"delete", "read"}},
		"a revision without tools":          {"r2", true, nil},
		"a revision that is not in it":      {"r3", false, nil},
		"no revision where there are names": {"", false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := registry.Compile(d, "sha256:x", tc.revision)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, tool := range s.Tools() {
				names = append(names, tool.Name)
			}
			if diff := cmp.Diff(tc.wantTools, names); diff != "" || s.Known() != tc.wantKnown {
				t.Errorf("known %v, tools (-want +got)\n%s", s.Known(), diff)
			}
			if _, ok := s.Tool("READ"); ok {
				t.Error("a name in another case was found")
			}
			if len(s.RuleSets()) != 1 || s.Digest() != "sha256:x" || s.Document() != d {
				t.Error("the snapshot has lost what it was made of")
			}
		})
	}
}

func TestSnapshotOfABrokenSetDenies(t *testing.T) {
	d := document()
	d.RuleSets[0].Rules[0].When = "args."
	s, err := registry.Compile(d, "", "r1")
	if err != nil {
		t.Fatal(err)
	}
	set := s.RuleSets()[0]
	if set.Broken() == "" || !set.Governs(rules.ToolInfo{Name: "read"}, "tools/call") {
		t.Error("a set that does not compile governs nothing")
	}
}

func TestSchemaCacheCompilesOnce(t *testing.T) {
	c := registry.NewSchemaCache()
	raw := []byte(`{"type":"object"}`)
	first, err := c.Get("d", "inputSchema", raw, schema.Options{})
	if err != nil {
		t.Fatal(err)
	}
	again, _ := c.Get("d", "inputSchema", raw, schema.Options{})
	other, _ := c.Get("d", "inputSchema", raw, schema.Options{AssertFormats: true})
	if first != again {
		t.Error("the same schema was compiled twice")
	}
	if first == other {
		t.Error("options do not count")
	}
	_, err = c.Get("bad", "inputSchema", []byte(`{"type":7}`), schema.Options{})
	_, same := c.Get("bad", "inputSchema", []byte(`{"type":7}`), schema.Options{})
	if err == nil || !errors.Is(same, err) {
		t.Errorf("errors %v and %v", err, same)
	}
}

func FuzzDecode(f *testing.F) {
	data, _, err := document().Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"version":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := registry.Decode(data)
		if err != nil {
			return
		}
		again, _, err := d.Encode()
		if err != nil {
			t.Fatalf("decoded, but not encoded: %v", err)
		}
		back, err := registry.Decode(again)
		if err != nil {
			t.Fatalf("encoded, but not decoded: %v", err)
		}
		if third, _, _ := back.Encode(); string(third) != string(again) {
			t.Error("encoding is not stable")
		}
	})
}
