// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package decide_test

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers/decide"
	"toolgate.dev/toolgate/controllers/decide/admission"
	"toolgate.dev/toolgate/controllers/waves"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/render/document"
)

// inSessions has clients' sessions list definitions that discovery does not.
func inSessions(defs ...registry.ObservedTool) func(*decide.Pod) {
	return func(p *decide.Pod) { p.Seen.State.Sessions.Tools = defs }
}

// variants wants so many definitions to be told, of which sessions alone list some.
func (s *tale) variants(all, sessions int32, words string) {
	s.t.Helper()
	o := s.in.Tool.Status.Observed
	if o == nil || o.Variants != all || o.SessionVariants != sessions {
		s.t.Fatalf("observed %+v, want %d variants, %d of them in sessions", o, all, sessions)
	}
	if got := message(s.in.Tool.Status); !strings.Contains(got, words) || words == "" && got != "" {
		s.t.Errorf("message %q, want %q", got, words)
	}
}

func TestSessionsListAnotherDefinition(t *testing.T) {
	s := newTale(t).sees("r1", pod("a", lists("c1", first)))
	s.variants(1, 0, "")
	told := len(s.news)
	differs := pod("a", lists("c1", first), inSessions(wider))
	s.sees("r1", differs).wants("True/Registered", "none", "")
	const words = "sessions list another definition of it, v2; the change is minor: /inputSchema/properties/depth is new; calls that reach another than the admitted definition are refused"
	s.variants(2, 1, words)
	if got := s.news[told:]; len(got) != 1 || got[0] != "DefinitionChanged: "+words {
		t.Errorf("news %q", got)
	}
	t.Run("and is told of as long as that pod is not heard of", func(*testing.T) {
		s.sees("r1", pod("a", silent), pod("b", lists("c1", first)))
		s.variants(2, 1, words)
	})
	t.Run("and several", func(*testing.T) {
		s.sees("r1", pod("a", lists("c1", first), inSessions(wider, narrower)))
		s.variants(3, 2, "sessions list 2 other definitions of it; calls")
	})
	t.Run("and none any more", func(t *testing.T) {
		told := len(s.news)
		s.sees("r1", pod("a", lists("c1", first))).wants("True/Registered", "none", "")
		s.variants(1, 0, "")
		if len(s.news) != told {
			t.Errorf("news %q", s.news[told:])
		}
	})
	t.Run("and a person admits it", func(*testing.T) {
		s.in.Tool.Spec.Pin = &mcpv1alpha1.Pin{Digest: "v2"}
		s.sees("r1", differs).wants("True/Registered", "none", "")
		s.variants(2, 1, "sessions alone list it so, and discovery otherwise; calls that reach another")
		s.sees("r1", pod("a", lists("c1", first))).wants("False/DefinitionChanged", "breaking", "depth is gone")
	})
}

func TestATool(t *testing.T) {
	alone := pod("a", lists("c1"), inSessions(first))
	t.Run("that sessions alone list is withheld, and admitted by a pin", func(t *testing.T) {
		s := newTale(t).sees("r1", alone)
		s.variants(1, 1, "sessions list it and discovery does not, so that nothing admits it by itself; to admit it, set spec.pin.digest to v1")
		s.wants("False/NotListed", "", "")
		if len(s.in.Tool.Status.Pins) > 0 {
			t.Errorf("pinned out of a session: %v", s.in.Tool.Status.Pins)
		}
		if got := document.LastSeen(s.in.Tool, "r1"); got != document.Gone {
			t.Errorf("seen %s: nobody meets it, and another name must not be confused with it", got)
		}
		if decide.Abandoned(s.in, []string{"r1"}) {
			t.Error("it is abandoned while sessions list it")
		}
		s.sees("r1", pod("a", silent), pod("b", lists("c1"))).wants("False/NotListed", "", "")
		s.in.Tool.Spec.Pin = &mcpv1alpha1.Pin{Digest: "v1"}
		s.sees("r1", alone).wants("True/Registered", "none", "")
		s.variants(1, 1, "sessions alone list it: discovery does not")
		s.in.Tool.Spec.Pin = nil
		s.sees("r1", pod("a", lists("c1"))).wants("False/Gone", "none", "")
		if !decide.Abandoned(s.in, []string{"r1"}) {
			t.Error("it is kept though nothing lists it any more")
		}
	})
	t.Run("that sessions alone list waits for a pin with each mode that has one", func(t *testing.T) {
		newTale(t, pinning(mcpv1alpha1.PinningStrict)).sees("r1", alone).wants("False/NotListed", "", "")
		newTale(t, pinning(mcpv1alpha1.PinningManual)).sees("r1", alone).wants("False/NotListed", "", "")
		s := newTale(t, pinning(mcpv1alpha1.PinningOff)).sees("r1", pod("a", lists("c1", first), inSessions(wider)))
		s.wants("True/Registered", "none", "")
		s.variants(2, 1, "pinning is Off: any definition is admitted; sessions list another definition of it, v2")
	})
	t.Run("with a contract is not served for what sessions list, with pinning Off either", func(t *testing.T) {
		promised := func(in *decide.ToolInput) {
			pinning(mcpv1alpha1.PinningOff)(in)
			in.Tool.Spec.Contract = &mcpv1alpha1.Contract{InputSchema: &runtime.RawExtension{Raw: []byte(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)}}
		}
		s := newTale(t, promised).sees("r1", alone)
		s.wants("False/DefinitionChanged", "none", "")
		if kept := s.in.Tool.Status.ContractKept; len(kept) > 0 {
			t.Errorf("a document would admit %v", kept)
		}
		s = newTale(t, promised).sees("r1", pod("a", lists("c1", first), inSessions(wider)))
		s.wants("True/Registered", "none", "")
		if kept := s.in.Tool.Status.ContractKept; len(kept) != 1 || kept[0] != "v1" {
			t.Errorf("a document would admit %v", kept)
		}
	})
	t.Run("that discovery stops listing, and sessions go on to list as admitted, is not gone", func(t *testing.T) {
		s := newTale(t).sees("r1", pod("a", lists("c1", first))).sees("r1", pod("a", lists("c2"), inSessions(first)))
		s.wants("True/Registered", "none", "")
		s.sees("r1", pod("a", lists("c2"), inSessions(wider))).wants("False/DefinitionChanged", "minor", "depth is new")
	})
	t.Run("that discovery stops listing, and sessions go on to list as the contract has it, is served as before with pinning Off", func(t *testing.T) {
		s := newTale(t, pinning(mcpv1alpha1.PinningOff), promising(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`, ""))
		s.sees("r1", pod("a", lists("c1", first))).sees("r1", pod("a", lists("c2"), inSessions(first))).wants("True/Registered", "none", "")
		if kept := s.in.Tool.Status.ContractKept; len(kept) != 1 || kept[0] != "v1" {
			t.Errorf("a document would admit %v", kept)
		}
		s.sees("r1", pod("a", lists("c2"), inSessions(wider))).wants("False/DefinitionChanged", "minor", "depth is new")
	})
	t.Run("that discovery lists otherwise has changed, though sessions were given the admitted one of late", func(t *testing.T) {
		s := newTale(t).sees("r1", pod("a", lists("c1", first))).sees("r1", pod("a", lists("c2", wider), inSessions(first)))
		s.wants("False/DefinitionChanged", "minor", "depth is new")
		s.variants(2, 1, "sessions list another definition of it, v1")
	})
	t.Run("of which a session lists what can't be served", func(t *testing.T) {
		broken := registry.ObservedTool{Name: "a", Digest: "v9", Definition: []byte(`{"name":"a"}`)}
		newTale(t).sees("r1", pod("a", lists("c1"), inSessions(broken))).wants("False/NotListed", "", "")
		newTale(t, pinning(mcpv1alpha1.PinningOff)).sees("r1", pod("a", lists("c1"), inSessions(broken))).wants("False/NoInputSchema", "none", "")
		newTale(t).sees("r1", pod("a", lists("c1", first), inSessions(broken))).wants("True/Registered", "none", "")
	})
}

// What is held against no other name must not count as told apart from all of them, whatever else is wrong with it.
func TestWhatSessionsAloneListIsNotToldApart(t *testing.T) {
	broken := registry.ObservedTool{Name: "a", Digest: "v9", Definition: []byte(`{"name":"a"}`)}
	promised := func(in *decide.ToolInput) {
		in.Tool.Spec.Contract = &mcpv1alpha1.Contract{InputSchema: &runtime.RawExtension{Raw: []byte(`{"type":"object","properties":{"other":{"type":"string"}},"required":["other"]}`)}}
	}
	nothing := func(*decide.ToolInput) {}
	for _, mode := range []mcpv1alpha1.Pinning{mcpv1alpha1.PinningPerRevision, mcpv1alpha1.PinningStrict, mcpv1alpha1.PinningManual, mcpv1alpha1.PinningOff} {
		for _, def := range []registry.ObservedTool{first, broken} {
			for _, edit := range []func(*decide.ToolInput){nothing, promised} {
				s := newTale(t, pinning(mode), edit).sees("r1", pod("a", lists("c1"), inSessions(def)))
				compared := admission.Tool{Object: s.in.Tool, Server: s.in.Server, View: s.in.View}.Met()
				if reason := conditions(s.in.Tool.Status.Conditions)["Registered"]; compared != (mode == mcpv1alpha1.PinningOff) || compared == (reason == "False/NotListed") {
					t.Errorf("pinning %s: %s is %s, and held against others: %t", mode, def.Digest, reason, compared)
				}
				if decide.Gone(s.in.Tool) {
					t.Errorf("pinning %s: %s is called gone", mode, def.Digest)
				}
			}
		}
	}
}

func TestWhatAPodThatHasNotBeenAskedMayList(t *testing.T) {
	differs := pod("a", lists("c1", first), inSessions(wider))
	pending := func(p *decide.Pod) { silent(p); notReady(p) }
	hasAddress := func(p *decide.Pod) { p.Status.PodIP = "10.0.0.2" }
	for name, tc := range map[string]struct {
		pod      decide.Pod
		sessions int32
	}{
		"it serves":                        {pod("b", silent), 1},
		"it has an address":                {pod("b", pending, hasAddress), 1},
		"it has none":                      {pod("b", pending), 0},
		"it has been asked":                {pod("b", pending, hasAddress, func(p *decide.Pod) { p.Seen.Err = "no answer in time" }), 0},
		"it answers and has no catalogue":  {pod("b", func(p *decide.Pod) { p.Seen.State.Catalogue = nil }), 0},
		"it is of another revision":        {pod("b", silent, of("r2"), notReady, hasAddress), 0},
		"it lists what the others list":    {pod("b", lists("c1", first)), 0},
		"it lists what they have not told": {pod("b", lists("c1", first), inSessions(wider)), 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTale(t).sees("r1", differs).sees("r1", pod("a", lists("c1", first)), tc.pod)
			if got := s.in.Tool.Status.Observed.SessionVariants; got != tc.sessions {
				t.Errorf("%d in sessions, want %d: %s", got, tc.sessions, message(s.in.Tool.Status))
			}
		})
	}
	t.Run("is nothing that was told of another revision", func(t *testing.T) {
		s := newTale(t).records("r1=c1", "r2=c1").sees("r1", differs)
		s.sees("r2", pod("a", lists("c1", first), of("r2")), pod("b", silent, of("r2")))
		s.variants(1, 0, "")
	})
	t.Run("is no tool that sessions of another revision alone listed", func(t *testing.T) {
		s := newTale(t).records("r1=c1", "r2=c1").sees("r1", pod("a", lists("c1"), inSessions(first)))
		s.sees("r2", pod("a", lists("c1"), of("r2")), pod("b", silent, of("r2"))).wants("False/Gone", "", "")
	})
}

// A manager that has just been started tells what was told, until it has heard of all pods.
func TestADiscoveredServerBeforeAllPodsAreHeardOf(t *testing.T) {
	crowded := pod("b", func(p *decide.Pod) { p.Seen.State.Sessions.NotKept = 1 })
	look := func(s *mcpv1alpha1.MCPServer, pods ...decide.Pod) string {
		s.Status = decide.Server(decide.ServerInput{
			Server: s, Now: now, Revision: "r1", Deployment: &appsv1.Deployment{}, Pods: pods, Document: "d1", Tools: registered(), Upgrade: waves.Settled,
		})
		c := meta.FindStatusCondition(s.Status.Conditions, "Discovered")
		return c.Reason + ": " + c.Message
	}
	s := server()
	told := look(s, pod("a"), crowded)
	if !strings.HasPrefix(told, "ToolsWithheld: ") {
		t.Fatal(told)
	}
	for _, unheard := range []decide.Pod{pod("b", silent), pod("b", silent, notReady, func(p *decide.Pod) { p.Status.PodIP = "10.0.0.2" })} {
		if got := look(s, pod("a"), unheard); got != told {
			t.Errorf("%q, want %q", got, told)
		}
	}
	for _, heard := range []decide.Pod{pod("b"), pod("b", silent, notReady)} {
		if got := look(s.DeepCopy(), pod("a"), heard); got != "Discovered: 1 tool" {
			t.Error(got)
		}
	}
	fresh := server()
	if got := look(fresh, pod("a"), pod("b", silent)); got != "Discovered: 1 tool" {
		t.Errorf("nothing was told before: %s", got)
	}
}

func TestAServerOfWhichSessionsListSomethingElse(t *testing.T) {
	told := func(registered metav1.ConditionStatus, variants, sessions int32) []mcpv1alpha1.MCPTool {
		tools := registeredTools(registered)
		tools[0].Status.Observed = &mcpv1alpha1.ObservedTool{Digest: "a1", Variants: variants, SessionVariants: sessions}
		return tools
	}
	const differ = "sessions list otherwise than discovery: a"
	for name, tc := range map[string]struct {
		edit   func(*decide.ServerInput)
		reason string
		words  string
	}{
		"another definition": {func(in *decide.ServerInput) { in.Tools = told(metav1.ConditionTrue, 2, 1) }, "ToolsWithheld", "1 tool; " + differ},
		"another one where any is served": {func(in *decide.ServerInput) {
			in.Tools = told(metav1.ConditionTrue, 2, 1)
			in.Server.Spec.Discovery.Pinning = mcpv1alpha1.PinningOff
		}, "Discovered", differ},
		"another one where any is served that keeps a contract": {func(in *decide.ServerInput) {
			in.Tools = told(metav1.ConditionTrue, 2, 1)
			in.Tools[0].Spec.Contract = &mcpv1alpha1.Contract{InputSchema: &runtime.RawExtension{Raw: []byte(`{"type":"object"}`)}}
			in.Server.Spec.Discovery.Pinning = mcpv1alpha1.PinningOff
		}, "ToolsWithheld", differ},
		"the only one, which is admitted": {func(in *decide.ServerInput) { in.Tools = told(metav1.ConditionTrue, 1, 1) }, "Discovered", differ},
		"the only one, which is not":      {func(in *decide.ServerInput) { in.Tools = told(metav1.ConditionFalse, 1, 1) }, "ToolsWithheld", differ},
		"more than is kept": {func(in *decide.ServerInput) { in.Pods[0].Seen.State.Sessions.NotKept = 1 }, "ToolsWithheld",
			"sessions list more definitions than are kept, which are 64"},
		"a tool that has no MCPTool because any definition would be served": {func(in *decide.ServerInput) {
			in.Server.Spec.Discovery.Pinning = mcpv1alpha1.PinningOff
			in.Pods[0].Seen.State.Sessions.Tools = []registry.ObservedTool{{Name: "b", Digest: "b1"}}
		}, "ToolsWithheld", "otherwise than discovery: b (which nothing serves before there is an MCPTool of it)"},
		"nothing": {func(in *decide.ServerInput) { in.Tools = told(metav1.ConditionTrue, 1, 0) }, "Discovered", "1 tool"},
	} {
		t.Run(name, func(t *testing.T) {
			in := decide.ServerInput{
				Server: server(), Now: now, Revision: "r1", Deployment: &appsv1.Deployment{}, Pods: []decide.Pod{pod("a")}, Document: "d1", Tools: registered(), Upgrade: waves.Settled,
			}
			tc.edit(&in)
			for _, c := range decide.Server(in).Conditions {
				if c.Type == "Discovered" && (c.Status != metav1.ConditionTrue || c.Reason != tc.reason || !strings.Contains(c.Message, tc.words)) {
					t.Errorf("%s/%s: %s", c.Status, c.Reason, c.Message)
				}
			}
		})
	}
}

func registeredTools(status metav1.ConditionStatus) []mcpv1alpha1.MCPTool {
	tools := registered()
	tools[0].Status.Conditions[0].Status = status
	if status == metav1.ConditionFalse {
		tools[0].Status.Conditions[0].Reason = "DefinitionChanged"
	}
	return tools
}
