// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package decide_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers/decide"
)

// TestWhichDefinitionsAreKnownToKeepTheContract has nothing pinned: they are what may be served.
func TestWhichDefinitionsAreKnownToKeepTheContract(t *testing.T) {
	broken := narrower
	broken.Digest = "v0"
	promise := func(schema string) func(*tale) {
		return func(s *tale) {
			promising(schema, "")(&s.in)
			s.in.Tool.Generation++
		}
	}
	sees := func(pods ...decide.Pod) func(*tale) {
		return func(s *tale) { s.sees("r1", pods...) }
	}
	type steps []func(*tale)
	for name, tc := range map[string]struct {
		then       steps
		want       []string
		registered string
	}{
		"one that does":                           {steps{sees(pod("a", lists("c1", first)))}, []string{"v1"}, "True/Registered"},
		"one that does not":                       {steps{sees(pod("a", lists("c1", narrower)))}, nil, "False/ContractBroken"},
		"those of replicas, of which one does":    {steps{sees(pod("a", lists("c1", broken)), pod("b", lists("c2", wider)))}, []string{"v2"}, "True/Registered"},
		"those of revisions":                      {steps{sees(pod("a", lists("c1", first)), pod("b", of("r2"), lists("c2", wider)))}, []string{"v1", "v2"}, "True/Registered"},
		"those of a revision before that do":      {steps{sees(pod("a", lists("c1", narrower)), pod("b", of("r0"), lists("c2", wider)))}, []string{"v2"}, "False/ContractBroken"},
		"another one since":                       {steps{sees(pod("a", lists("c1", first))), sees(pod("a", lists("c2", wider)))}, []string{"v2"}, "True/Registered"},
		"one that does not since":                 {steps{sees(pod("a", lists("c1", first))), sees(pod("a", lists("c2", narrower)))}, nil, "False/ContractBroken"},
		"nobody has told a manager that began":    {steps{sees(pod("a", lists("c1", first))), sees(pod("a", silent))}, []string{"v1"}, "True/Registered"},
		"not all have told it":                    {steps{sees(pod("a", lists("c1", first)), pod("b", lists("c2", wider))), sees(pod("a", silent), pod("b", lists("c2", wider)))}, []string{"v1", "v2"}, "True/Registered"},
		"it is not listed for now":                {steps{sees(pod("a", lists("c1", first))), sees(pod("a", lists("c2")))}, []string{"v1"}, "False/Gone"},
		"what is shown, where nobody has told":    {steps{func(s *tale) { s.in.Tool.Spec.Contract = nil }, sees(pod("a", lists("c1", first))), promise(`{"type":"object","required":["path"],"properties":{"path":{"type":"string"}}}`), sees(pod("a", silent))}, []string{"v1"}, "True/Registered"},
		"another contract, where nobody has told": {steps{sees(pod("a", lists("c1", first))), promise(`{"type":"object"}`), sees(pod("a", silent))}, nil, "False/ContractBroken"},
		"another one and the first again, where nobody has told": {steps{sees(pod("a", lists("c1", first))), promise(`{"type":"object"}`), sees(pod("a", silent)),
			promise(`{"type":"object","required":["path"],"properties":{"path":{"type":"string"}}}`), sees(pod("a", silent))}, []string{"v1"}, "True/Registered"},
		"a contract that is no schema": {steps{promise(`{"type":7}`), sees(pod("a", lists("c1", first)))}, nil, "False/ContractBroken"},
		"a contract that promises no schema": {steps{func(s *tale) { s.in.Tool.Spec.Contract = &mcpv1alpha1.Contract{Version: "1.0.0"} },
			sees(pod("a", lists("c1", first)))}, nil, "True/Registered"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTale(t, pinning(mcpv1alpha1.PinningOff), promising(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`, ""))
			for _, then := range tc.then {
				then(s)
			}
			status := s.in.Tool.Status
			if diff := cmp.Diff(tc.want, status.ContractKept); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if got := conditions(status.Conditions)["Registered"]; got != tc.registered {
				t.Errorf("Registered is %s, want %s: %s", got, tc.registered, message(status))
			}
		})
	}
}

// TestAContractThatIsChangedWhereNobodyHasTold is held against what is shown: what the document withholds is not called registered, nor
// the other way round.
func TestAContractThatIsChangedWhereNobodyHasTold(t *testing.T) {
	const keeps, breaks = `{"type":"object","required":["path"],"properties":{"path":{"type":"string"}}}`, `{"type":"object"}`
	for _, mode := range []mcpv1alpha1.Pinning{mcpv1alpha1.PinningPerRevision, mcpv1alpha1.PinningStrict, mcpv1alpha1.PinningOff} {
		s := newTale(t, pinning(mode), promising(keeps, "")).sees("r1", pod("a", lists("c1", first)))
		for _, step := range []struct{ contract, want string }{
			{keeps, "True/Registered"}, {breaks, "False/ContractBroken"}, {breaks, "False/ContractBroken"}, {keeps, "True/Registered"}, {"", "True/Registered"}, {breaks, "False/ContractBroken"}, {"", "True/Registered"},
		} {
			s.in.Tool.Spec.Contract = nil
			if step.contract != "" {
				promising(step.contract, "")(&s.in)
			}
			s.in.Tool.Generation++
			for range 2 {
				s.sees("r1", pod("a", silent))
				if got := conditions(s.in.Tool.Status.Conditions)["Registered"]; got != step.want {
					t.Errorf("pinning %s, contract %s: Registered is %s, want %s: %s", mode, step.contract, got, step.want, message(s.in.Tool.Status))
				}
			}
		}
	}
}

// TestWhatCantBeLookedAtKeepsNoContractButTheOneThatItWasSeenToKeep: a definition that no pod lists any more, and that is not shown.
func TestWhatCantBeLookedAtKeepsNoContractButTheOneThatItWasSeenToKeep(t *testing.T) {
	s := newTale(t, pinning(mcpv1alpha1.PinningOff), promising(`{"type":"object","required":["path"],"properties":{"path":{"type":"string"}}}`, ""))
	s.in.Tool.Status.ContractKept = []string{"v9"}
	s.in.Tool.Status.ObservedGeneration = s.in.Tool.Generation
	s.sees("r1", pod("a", silent))
	if got := s.in.Tool.Status.ContractKept; !cmp.Equal(got, []string{"v9"}) {
		t.Errorf("kept by %v, though nothing was changed", got)
	}
	s.in.Tool.Spec.Contract.InputSchema = &runtime.RawExtension{Raw: []byte(`{"type":"object"}`)}
	s.in.Tool.Generation++
	s.sees("r1", pod("a", silent))
	if got := s.in.Tool.Status.ContractKept; got != nil {
		t.Errorf("another contract is kept by %v, which nobody has held against it", got)
	}
}
