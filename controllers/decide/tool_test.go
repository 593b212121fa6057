// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package decide_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers/decide"
	"toolgate.dev/toolgate/controllers/decide/admission"
	"toolgate.dev/toolgate/internal/registry"
)

// takesPath is a definition with parameters; required names some of them.
func takes(digest, properties, required string) registry.ObservedTool {
	return registry.ObservedTool{Name: "a", Digest: digest, Definition: []byte(
		`{"name":"a","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object","properties":{` + properties + `},"required":[` + required + `]}}`)}
}

var (
	first    = takes("v1", `"path":{"type":"string"}`, `"path"`)
	wider    = takes("v2", `"path":{"type":"string"},"depth":{"type":"integer"}`, `"path"`)
	narrower = takes("v3", `"path":{"type":"string"},"mode":{"type":"string"}`, `"path","mode"`)
)

// tale is one tool through several looks at its pods.
type tale struct {
	t  *testing.T
	in decide.ToolInput
	// kept are first catalogues that a manager remembers.
	kept admission.Firsts
	// news are the notes of all events so far.
	news []string
}

func newTale(t *testing.T, edits ...func(*decide.ToolInput)) *tale {
	return &tale{t: t, in: tool(edits...)}
}

// records sets the server's revisions: r1=c1 means that c1 was the first catalogue of r1.
func (s *tale) records(revisions ...string) *tale {
	s.in.Server.Status.Revisions = nil
	for _, r := range revisions {
		name, digest, _ := strings.Cut(r, "=")
		s.in.Server.Status.Revisions = append(s.in.Server.Status.Revisions, mcpv1alpha1.RevisionStatus{Name: name, FirstCatalogueDigest: digest})
	}
	return s
}

// sees looks at pods and writes the status down, twice: the second look must change nothing.
func (s *tale) sees(current string, pods ...decide.Pod) *tale {
	s.t.Helper()
	s.in.View = decide.NewView(s.in.Server, current, pods).Recall(s.kept)
	before := s.in.Tool.Status
	s.in.Tool.Status = decide.Tool(s.in)
	for _, n := range append(decide.Transitions(before.Conditions, s.in.Tool.Status.Conditions), decide.ToolNews(&before, &s.in.Tool.Status)...) {
		s.news = append(s.news, n.Reason+": "+n.Note)
	}
	if diff := cmp.Diff(s.in.Tool.Status, decide.Tool(s.in)); diff != "" {
		s.t.Errorf("a second look changes the status: %s", diff)
	}
	return s
}

func (s *tale) wants(registered string, kind mcpv1alpha1.ChangeKind, words string) {
	s.t.Helper()
	status := s.in.Tool.Status
	if got := conditions(status.Conditions)["Registered"]; got != registered {
		s.t.Errorf("Registered is %s, want %s: %s", got, registered, message(status))
	}
	got := mcpv1alpha1.ToolChange{}
	if status.Change != nil {
		got = *status.Change
	}
	if got.Kind != kind || !strings.Contains(got.Text, words) || words == "" && got.Text != "" {
		s.t.Errorf("change %s %q, want %s %q", got.Kind, got.Text, kind, words)
	}
}

func message(status mcpv1alpha1.MCPToolStatus) string {
	return meta.FindStatusCondition(status.Conditions, "Registered").Message
}

const digest1 = "v1"

func TestTheChangeSinceTheLastPin(t *testing.T) {
	t.Run("of a first admission there is none", func(t *testing.T) {
		newTale(t).sees("r1", pod("a", lists("c1", first))).wants("True/Registered", "none", "")
	})
	t.Run("within a revision it is withheld, and told from the pin however often it goes on", func(t *testing.T) {
		s := newTale(t).sees("r1", pod("a", lists("c1", first))).sees("r1", pod("a", lists("c2", wider)))
		s.wants("False/DefinitionChanged", "minor", "/inputSchema/properties/depth is new")
		if got := s.in.Tool.Status; got.Admitted == nil || got.Admitted.Digest != digest1 || got.Change.From != digest1 {
			t.Errorf("admitted %+v, change %+v", got.Admitted, got.Change)
		}
		if !strings.Contains(message(s.in.Tool.Status), "the change is minor: /inputSchema/properties/depth is new; to admit it") {
			t.Errorf("message %q", message(s.in.Tool.Status))
		}
		s.sees("r1", pod("a", lists("c3", narrower))).wants("False/DefinitionChanged", "breaking", `/inputSchema/required "mode" is required now`)
		if n := len(s.news); n == 0 || !strings.Contains(s.news[n-1], `the change is breaking: /inputSchema/required "mode"`) {
			t.Errorf("a second change is no news: %q", s.news)
		}

		s.sees("r1", pod("a", lists("c1", first))).wants("True/Registered", "none", "")
		if s.in.Tool.Status.Admitted != nil {
			t.Error("what is admitted is what is observed again, and is still shown beside it")
		}
	})
	t.Run("a person who admits it has seen it", func(t *testing.T) {
		s := newTale(t).sees("r1", pod("a", lists("c1", first))).sees("r1", pod("a", lists("c2", wider)))
		s.in.Tool.Spec.Pin = &mcpv1alpha1.Pin{Digest: "v2"}
		s.sees("r1", pod("a", lists("c2", wider))).wants("True/Registered", "none", "")
		s.sees("r1", pod("a", lists("c3", narrower))).wants("False/DefinitionChanged", "breaking", "/inputSchema/properties/depth is gone")
	})
	t.Run("with a new revision it is admitted and told", func(t *testing.T) {
		s := newTale(t).sees("r1", pod("a", lists("c1", first)))
		s.records("r1=c1", "r2=c2").sees("r2", pod("a", lists("c1", first)), pod("b", lists("c2", wider), of("r2")))
		s.wants("True/Registered", "minor", "/inputSchema/properties/depth is new")
		if want := "DefinitionChanged: a new definition is admitted; the change is minor: /inputSchema/properties/depth is new"; s.news[len(s.news)-1] != want {
			t.Errorf("news %q", s.news)
		}
		told := len(s.news)
		s.sees("r2", pod("b", lists("c2", wider), of("r2"))).wants("True/Registered", "minor", "/inputSchema/properties/depth is new")
		if len(s.news) != told {
			t.Errorf("told again: %q", s.news[told:])
		}
	})
	t.Run("where the older definition is not known it is breaking and says so", func(t *testing.T) {
		s := newTale(t)
		s.in.Tool.Spec.Pin = &mcpv1alpha1.Pin{Digest: "v0"}
		s.sees("r1", pod("a", lists("c1", first))).wants("False/DefinitionChanged", "breaking", "not known any more, so it can't be compared")
	})
	t.Run("where a schema could not be kept it is breaking and says so", func(t *testing.T) {
		large := takes("v1", `"path":{"type":"string","description":"`+strings.Repeat("x", 20_000)+`"}`, "")
		s := newTale(t).sees("r1", pod("a", lists("c1", large)))
		if got := s.in.Tool.Status.Observed; got.InputSchema != nil || !cmp.Equal(got.SchemaOmitted, []string{"inputSchema"}) || got.Digest != digest1 {
			t.Errorf("observed %v", got.SchemaOmitted)
		}
		s.sees("r1", pod("a", lists("c2", wider))).wants("False/DefinitionChanged", "breaking", "/inputSchema could not be kept (above 16 KiB")
		s.sees("r1", pod("a", lists("c2", wider)), pod("b", lists("c1", large)))
		s.wants("True/Registered", "none", "")
	})
}

func TestReplicasThatDiffer(t *testing.T) {
	s := newTale(t).sees("r1", pod("a", lists("c1", first)), pod("b", lists("c2", wider)))
	s.wants("True/Registered", "none", "")
	if s.in.Tool.Status.Observed.Variants != 2 || !strings.Contains(message(s.in.Tool.Status), "replicas list 2 different definitions") {
		t.Errorf("%d variants: %q", s.in.Tool.Status.Observed.Variants, message(s.in.Tool.Status))
	}
}

func pinning(p mcpv1alpha1.Pinning) func(*decide.ToolInput) {
	return func(in *decide.ToolInput) { in.Server.Spec.Discovery.Pinning = p }
}

func TestStrictPinningOutlivesRevisions(t *testing.T) {
	strict := pinning(mcpv1alpha1.PinningStrict)
	t.Run("a later revision is held to the first", func(t *testing.T) {
		s := newTale(t, strict).sees("r1", pod("a", lists("c1", first)))
		s.wants("True/Registered", "none", "")
		s.records("r1=c1", "r2=c2").sees("r2", pod("b", lists("c2", wider), of("r2"))).wants("False/DefinitionChanged", "minor", "depth is new")
		s.sees("r2", pod("b", lists("c1", first), of("r2"))).wants("True/Registered", "none", "")
	})
	t.Run("a tool that comes with a later revision waits for a person", func(t *testing.T) {
		s := newTale(t, strict).records("r1=c1", "r2=c2").sees("r2", pod("b", lists("c2", first), of("r2")))
		s.wants("False/DefinitionChanged", "", "")
		s.in.Tool.Spec.Pin = &mcpv1alpha1.Pin{Digest: digest1}
		s.sees("r2", pod("b", lists("c2", first), of("r2"))).wants("True/Registered", "none", "")
	})
	t.Run("an object that was deleted does not reopen first use", func(t *testing.T) {
		newTale(t, strict).records("r1=c1", "r2=c2").sees("r2", pod("b", lists("c2", wider), of("r2"))).wants("False/DefinitionChanged", "", "")
	})
	t.Run("a revision that never listed anything is not the first", func(t *testing.T) {
		newTale(t, strict).records("r2=c1", "r1=").sees("r2", pod("b", lists("c1", first), of("r2"))).wants("True/Registered", "none", "")
	})
	t.Run("a server that was made again is held to what was admitted before", func(t *testing.T) {
		s := newTale(t, strict).sees("r1", pod("a", lists("c1", first)))
		s.records().sees("r3").records("r3=c3").sees("r3", pod("b", lists("c3", wider), of("r3")))
		s.wants("False/DefinitionChanged", "minor", "depth is new")
	})
}

func TestAutomaticPinsDoNotCountWithManualAndOff(t *testing.T) {
	s := newTale(t).sees("r1", pod("a", lists("c1", first)))
	pinning(mcpv1alpha1.PinningManual)(&s.in)
	s.sees("r1", pod("a", lists("c1", first))).wants("False/NotPinned", "none", "")
	pinning(mcpv1alpha1.PinningOff)(&s.in)
	s.sees("r1", pod("a", lists("c2", wider))).wants("True/Registered", "minor", "depth is new")
	s.in.Tool.Spec.Pin = &mcpv1alpha1.Pin{Digest: digest1}
	s.sees("r1", pod("a", lists("c2", wider))).wants("False/DefinitionChanged", "minor", "depth is new")
	s.in.Tool.Spec.Pin = nil
	pinning(mcpv1alpha1.PinningPerRevision)(&s.in)
	s.sees("r1", pod("a", lists("c1", first))).wants("True/Registered", "none", "")
}

func promising(input, output string) func(*decide.ToolInput) {
	return func(in *decide.ToolInput) {
		c := &mcpv1alpha1.Contract{Version: "1.0.0"}
		if input != "" {
			c.InputSchema = &runtime.RawExtension{Raw: []byte(input)}
		}
		if output != "" {
			c.OutputSchema = &runtime.RawExtension{Raw: []byte(output)}
		}
		in.Tool.Spec.Contract = c
		in.Tool.Generation++
	}
}

func TestAContractIsKeptOrTheToolIsWithheld(t *testing.T) {
	kept := promising(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`, "")
	t.Run("kept", func(t *testing.T) {
		newTale(t, kept).sees("r1", pod("a", lists("c1", first))).wants("True/Registered", "none", "")
	})
	t.Run("broken by what is listed first", func(t *testing.T) {
		s := newTale(t, kept).sees("r1", pod("a", lists("c1", narrower)))
		s.wants("False/ContractBroken", "none", "")
		if want := `the definition breaks spec.contract: /inputSchema/required "mode" is required now; mend the server, or change the contract`; message(s.in.Tool.Status) != want {
			t.Errorf("message %q", message(s.in.Tool.Status))
		}
		if !cmp.Equal(s.in.Tool.Status.ContractBroken, []string{"v3"}) {
			t.Errorf("broken: %v", s.in.Tool.Status.ContractBroken)
		}
	})
	t.Run("broken later, whatever a person pins", func(t *testing.T) {
		s := newTale(t, kept).sees("r1", pod("a", lists("c1", first))).sees("r1", pod("a", lists("c2", narrower)))
		s.wants("False/ContractBroken", "breaking", `"mode" is required now`)
		s.in.Tool.Spec.Pin = &mcpv1alpha1.Pin{Digest: "v3"}
		s.sees("r1", pod("a", lists("c2", narrower))).wants("False/ContractBroken", "none", "")
		if !cmp.Equal(s.in.Tool.Status.ContractBroken, []string{"v3"}) {
			t.Errorf("broken: %v", s.in.Tool.Status.ContractBroken)
		}
	})
	t.Run("an output that is not promised by the server", func(t *testing.T) {
		s := newTale(t, promising("", `{"type":"object"}`)).sees("r1", pod("a", lists("c1", first)))
		s.wants("False/ContractBroken", "none", "")
	})
	t.Run("a contract that is no schema is kept by nothing", func(t *testing.T) {
		s := newTale(t, promising(`{"type":7}`, "")).sees("r1", pod("a", lists("c1", first)))
		s.wants("False/ContractBroken", "none", "")
		if !strings.HasPrefix(message(s.in.Tool.Status), "spec.contract.inputSchema can't be read") {
			t.Errorf("message %q", message(s.in.Tool.Status))
		}
	})
	t.Run("a new contract while nothing is listed is broken by what can't be looked at", func(t *testing.T) {
		s := newTale(t)
		s.in.Tool.Status.Pins = []mcpv1alpha1.RevisionPin{{Revision: "r1", Digest: "v9"}}
		kept(&s.in)
		s.sees("r1", pod("a", silent))
		if !cmp.Equal(s.in.Tool.Status.ContractBroken, []string{"v9"}) {
			t.Errorf("broken: %v", s.in.Tool.Status.ContractBroken)
		}
	})
	t.Run("and withdrawn", func(t *testing.T) {
		s := newTale(t, kept).sees("r1", pod("a", lists("c1", narrower)))
		s.in.Tool.Spec.Contract = nil
		s.sees("r1", pod("a", lists("c1", narrower))).wants("True/Registered", "none", "")
		if s.in.Tool.Status.ContractBroken != nil {
			t.Error("a contract that is not there is broken")
		}
	})
}

func TestDeprecation(t *testing.T) {
	for name, tc := range map[string]struct{ version, in, want string }{
		"before its version":    {"1.9.0", "2.0.0", "True/Callable"},
		"from its version on":   {"2.0.0", "2.0.0", "True/Deprecated"},
		"after its version":     {"10.0.0", "2.0.0", "True/Deprecated"},
		"before it is released": {"2.0.0-rc.1", "2.0.0", "True/Callable"},
		"of no version":         {"", "2.0.0", "True/Deprecated"},
		"of a version for ever": {"1.0.0", "", "True/Callable"},
	} {
		t.Run(name, func(t *testing.T) {
			in := tool(viewed(pod("a", lists("c1", first))), func(in *decide.ToolInput) {
				in.Tool.Spec.Contract = &mcpv1alpha1.Contract{Version: tc.version, DeprecatedIn: tc.in}
			})
			if got := conditions(decide.Tool(in).Conditions)["Callable"]; got != tc.want {
				t.Errorf("Callable is %s, want %s", got, tc.want)
			}
		})
	}
}
