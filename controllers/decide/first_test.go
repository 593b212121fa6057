// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package decide_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers/decide"
	"toolgate.dev/toolgate/controllers/decide/admission"
)

// TestWhatWasRecordedIsAdmittedAlsoIfTheServerListsSomethingElseByThen: c1 is recorded as the first catalogue of r1, and c2 is listed.
func TestWhatWasRecordedIsAdmittedAlsoIfTheServerListsSomethingElseByThen(t *testing.T) {
	had := func(digest string) admission.Firsts { return admission.Firsts{"c1": {"a": digest, "b": "b1"}} }
	for name, tc := range map[string]struct {
		kept    admission.Firsts
		pinning mcpv1alpha1.Pinning
		pinned  bool
		want    string
		words   string
	}{
		"unchanged":                             {had("v2"), "", true, "True/Registered", ""},
		"unchanged, Strict":                     {had("v2"), mcpv1alpha1.PinningStrict, true, "True/Registered", ""},
		"changed":                               {had("v1"), "", true, "False/DefinitionChanged", "admitted is v1"},
		"added since":                           {admission.Firsts{"c1": {}}, "", false, "False/DefinitionChanged", "not in the first catalogue of revision r1"},
		"added since, Strict":                   {admission.Firsts{"c1": {}}, mcpv1alpha1.PinningStrict, false, "False/DefinitionChanged", "but did not in the first catalogue of its first revision"},
		"nobody remembers it":                   {nil, "", false, "False/DefinitionChanged", "not pinned while the first catalogue of revision r1 was seen; to admit it, set spec.pin.digest to v2; a new revision"},
		"nobody remembers it, Strict":           {nil, mcpv1alpha1.PinningStrict, false, "False/DefinitionChanged", "not pinned while the first catalogue of the server's first revision was seen"},
		"what is remembered was never recorded": {admission.Firsts{"c2": {"a": "v2"}}, "", false, "False/DefinitionChanged", "was not pinned"},
		"it was listed twice":                   {had(""), "", false, "False/DefinitionChanged", "was not pinned"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTale(t, pinning(tc.pinning))
			s.kept = tc.kept
			s.sees("r1", pod("a", lists("c2", wider)))
			status := s.in.Tool.Status
			if got := conditions(status.Conditions)["Registered"]; got != tc.want || !strings.Contains(message(status), tc.words) {
				t.Errorf("Registered is %s: %q; want %s: %q", got, message(status), tc.want, tc.words)
			}
			if (len(status.Pins) > 0) != tc.pinned {
				t.Errorf("pins %v", status.Pins)
			}
			if tc.pinned && status.Pins[0].Digest != tc.kept["c1"]["a"] {
				t.Errorf("pinned to %s", status.Pins[0].Digest)
			}
		})
	}
	t.Run("back in a revision whose catalogue has changed, a tool that the one between had not", func(t *testing.T) {
		s := newTale(t).records("r1=c1", "r2=c2")
		s.kept = admission.Firsts{"c1": {"a": "v1", "b": "b1"}, "c2": {"b": "b1"}}
		s.sees("r1", pod("a", lists("c3", first))).wants("True/Registered", "none", "")
	})
	t.Run("a definition that nobody has compared with the contract does not keep it", func(t *testing.T) {
		s := newTale(t, promising(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`, ""))
		s.in.Tool.Status.ObservedGeneration = s.in.Tool.Generation
		s.kept = had("v3")
		s.sees("r1", pod("a", lists("c2", wider))).wants("False/DefinitionChanged", "breaking", "not known any more")
		if got := s.in.Tool.Status.ContractBroken; !cmp.Equal(got, []string{"v3"}) {
			t.Errorf("broken: %v", got)
		}
	})
}

func TestFirstCataloguesAreRememberedAsTheyAreRecorded(t *testing.T) {
	recorded := []mcpv1alpha1.RevisionStatus{{Name: "r1", FirstCatalogueDigest: "c1"}, {Name: "r2", FirstCatalogueDigest: "c2"}, {Name: "r3"}}
	both := []decide.Pod{pod("a", lists("c1", first, defined("x", ""))), pod("b", lists("c2", wider), of("r2")), pod("c", silent)}
	kept := decide.Firsts(nil, recorded, both)
	want := admission.Firsts{"c1": {"a": ""}, "c2": {"a": "v2"}}
	if diff := cmp.Diff(want, kept); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	later := []decide.Pod{pod("a", lists("c9", narrower))}
	if diff := cmp.Diff(want, decide.Firsts(kept, recorded, later)); diff != "" {
		t.Errorf("another catalogue is listed (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(admission.Firsts{"c2": {"a": "v2"}}, decide.Firsts(kept, recorded[1:], later)); diff != "" {
		t.Errorf("a revision is forgotten (-want +got)\n%s", diff)
	}
}

// TestTighteningPinningWithholdsWhatChangedAndNothingElse: what is pinned while pins do not count, and what they come to when they do.
func TestTighteningPinningWithholdsWhatChangedAndNothingElse(t *testing.T) {
	const off, manual, strict, perRevision = mcpv1alpha1.PinningOff, mcpv1alpha1.PinningManual, mcpv1alpha1.PinningStrict, mcpv1alpha1.PinningPerRevision
	other := defined("b1", "")
	other.Name = "b"
	unchanged := func(s *tale) { s.sees("r1", pod("a", lists("c2", first, other))) }
	changed := func(s *tale) { s.sees("r1", pod("a", lists("c2", wider))) }
	nextRevision := func(s *tale) {
		s.records("r1=c1", "r2=c2").sees("r2", pod("b", lists("c2", wider), of("r2"))).sees("r2", pod("b", lists("c3", wider, other), of("r2")))
	}
	for name, tc := range map[string]struct {
		from, to mcpv1alpha1.Pinning
		then     func(*tale)
		want     string
	}{
		"unchanged, Off to PerRevision":                        {off, perRevision, unchanged, "True/Registered"},
		"unchanged, Off to Strict":                             {off, strict, unchanged, "True/Registered"},
		"unchanged, Manual to PerRevision":                     {manual, perRevision, unchanged, "True/Registered"},
		"unchanged, Manual to Strict":                          {manual, strict, unchanged, "True/Registered"},
		"unchanged, Off to Manual":                             {off, manual, unchanged, "False/NotPinned"},
		"changed, Off to PerRevision":                          {off, perRevision, changed, "False/DefinitionChanged"},
		"changed, Off to Strict":                               {off, strict, changed, "False/DefinitionChanged"},
		"changed, Manual to PerRevision":                       {manual, perRevision, changed, "False/DefinitionChanged"},
		"changed with a revision that Off served, to Strict":   {off, strict, nextRevision, "True/Registered"},
		"changed with a revision, Manual to Strict":            {manual, strict, nextRevision, "False/DefinitionChanged"},
		"changed with a revision that Off served, PerRevision": {off, perRevision, nextRevision, "True/Registered"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTale(t, pinning(tc.from)).sees("r1", pod("a", lists("c1", first)))
			tc.then(s)
			if got, loose := conditions(s.in.Tool.Status.Conditions)["Registered"], map[mcpv1alpha1.Pinning]string{off: "True/Registered", manual: "False/NotPinned"}[tc.from]; got != loose {
				t.Errorf("with %s: Registered is %s", tc.from, got)
			}
			if status := s.in.Tool.Status; tc.from == manual && (status.Admitted != nil || status.Change != nil) {
				t.Errorf("shown as admitted: %+v, changed %+v", status.Admitted, status.Change)
			}
			pinning(tc.to)(&s.in)
			current := "r1"
			pods := []decide.Pod{pod("a", lists("c9", first))}
			if len(s.in.Server.Status.Revisions) > 1 {
				current, pods = "r2", []decide.Pod{pod("b", lists("c9", wider), of("r2"))}
			} else if s.in.Tool.Status.Observed.Digest == "v2" {
				pods = []decide.Pod{pod("a", lists("c9", wider))}
			}
			s.sees(current, pods...)
			if got := conditions(s.in.Tool.Status.Conditions)["Registered"]; got != tc.want {
				t.Errorf("with %s: Registered is %s, want %s: %s", tc.to, got, tc.want, message(s.in.Tool.Status))
			}
		})
	}
	t.Run("a tool that was added while anything was served waits for a person", func(t *testing.T) {
		s := newTale(t, pinning(off))
		s.kept = admission.Firsts{"c1": {"b": "b1"}}
		s.sees("r1", pod("a", lists("c2", first))).wants("True/Registered", "none", "")
		pinning(perRevision)(&s.in)
		s.sees("r1", pod("a", lists("c2", first)))
		if got := conditions(s.in.Tool.Status.Conditions)["Registered"]; got != "False/DefinitionChanged" || s.in.Tool.Status.Pins != nil {
			t.Errorf("Registered is %s, pins %v", got, s.in.Tool.Status.Pins)
		}
	})
}

// TestAPinThatDoesNotCountAndBreaksTheContractIsNotKept: it must not withhold what is listed, and not count later.
func TestAPinThatDoesNotCountAndBreaksTheContractIsNotKept(t *testing.T) {
	s := newTale(t, pinning(mcpv1alpha1.PinningOff), promising(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`, ""))
	s.kept = admission.Firsts{"c1": {"a": "v3"}}
	s.sees("r1", pod("a", lists("c1", narrower)))
	s.in.Tool.Status.ObservedGeneration = s.in.Tool.Generation
	if got := conditions(s.in.Tool.Status.Conditions)["Registered"]; got != "False/ContractBroken" || s.in.Tool.Status.Pins != nil {
		t.Errorf("Registered is %s, pins %v", got, s.in.Tool.Status.Pins)
	}
	s.sees("r1", pod("a", lists("c2", first)))
	if got := conditions(s.in.Tool.Status.Conditions)["Registered"]; got != "True/Registered" || s.in.Tool.Status.ContractBroken != nil {
		t.Errorf("Registered is %s, broken %v", got, s.in.Tool.Status.ContractBroken)
	}
	pinning(mcpv1alpha1.PinningPerRevision)(&s.in)
	s.sees("r1", pod("a", lists("c2", first)))
	if got := s.in.Tool.Status.ContractBroken; !cmp.Equal(got, []string{"v3"}) {
		t.Errorf("what is pinned now is not known to keep the contract, broken are %v", got)
	}
}
