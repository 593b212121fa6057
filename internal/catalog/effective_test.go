// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import "testing"

func TestEffective(t *testing.T) {
	yes, no := new(bool), new(bool)
	*yes = true
	for name, tc := range map[string]struct {
		annotations Annotations
		overrides   Hints
		safe        bool
		want        Verdict
	}{
		"nothing said":                                {want: Verdict{Destructive: true, Because: BecauseDefault, OpenWorld: true}},
		"nothing said, unannotated is safe":           {safe: true, want: Verdict{Because: BecauseDefault, OpenWorld: true}},
		"other hints do not make it annotated":        {Annotations{Idempotent: yes, OpenWorld: no, Title: "x"}, Hints{}, true, Verdict{Because: BecauseDefault, Idempotent: true}},
		"read-only":                                   {Annotations{ReadOnly: yes}, Hints{}, false, Verdict{Because: BecauseAnnotation, ReadOnly: true, OpenWorld: true}},
		"read-only, and destructive without meaning":  {Annotations{ReadOnly: yes, Destructive: yes}, Hints{}, false, Verdict{Because: BecauseAnnotation, ReadOnly: true, OpenWorld: true}},
		"additive":                                    {Annotations{ReadOnly: no, Destructive: no}, Hints{}, false, Verdict{Because: BecauseAnnotation, OpenWorld: true}},
		"destructive":                                 {Annotations{Destructive: yes}, Hints{}, true, Verdict{Destructive: true, Because: BecauseAnnotation, OpenWorld: true}},
		"not read-only and no more":                   {Annotations{ReadOnly: no}, Hints{}, false, Verdict{Destructive: true, Because: BecauseDefault, OpenWorld: true}},
		"not read-only is not unannotated":            {Annotations{ReadOnly: no}, Hints{}, true, Verdict{Destructive: true, Because: BecauseDefault, OpenWorld: true}},
		"overridden as destructive":                   {Annotations{ReadOnly: yes}, Hints{Destructive: yes}, true, Verdict{Destructive: true, Because: BecauseOverride, OpenWorld: true}},
		"overridden as not destructive":               {Annotations{Destructive: yes}, Hints{Destructive: no}, false, Verdict{Because: BecauseOverride, OpenWorld: true}},
		"overridden as read-only":                     {Annotations{Destructive: yes}, Hints{ReadOnly: yes}, false, Verdict{Because: BecauseOverride, ReadOnly: true, OpenWorld: true}},
		"overridden as read-only and destructive":     {Annotations{}, Hints{ReadOnly: yes, Destructive: yes}, false, Verdict{Destructive: true, Because: BecauseOverride, OpenWorld: true}},
		"overridden as not read-only":                 {Annotations{ReadOnly: yes}, Hints{ReadOnly: no}, true, Verdict{Destructive: true, Because: BecauseDefault, OpenWorld: true}},
		"overridden as not read-only, additive":       {Annotations{ReadOnly: yes, Destructive: no}, Hints{ReadOnly: no}, false, Verdict{Because: BecauseAnnotation, OpenWorld: true}},
		"overridden in the hints that decide nothing": {Annotations{Idempotent: no, OpenWorld: yes, Destructive: no}, Hints{Idempotent: yes, OpenWorld: no}, false, Verdict{Because: BecauseAnnotation, Idempotent: true}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Effective(tc.annotations, tc.overrides, tc.safe); got != tc.want {
				t.Errorf("Effective = %+v, want %+v", got, tc.want)
			}
		})
	}
}

func TestGated(t *testing.T) {
	for name, tc := range map[string]struct {
		verdict       Verdict
		gated, strict bool
	}{
		"destructive":                       {Verdict{Destructive: true}, true, true},
		"neither destructive nor read-only": {Verdict{}, false, true},
		"read-only":                         {Verdict{ReadOnly: true}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			if gated, strict := tc.verdict.Gated(false), tc.verdict.Gated(true); gated != tc.gated || strict != tc.strict {
				t.Errorf("gated %v, and %v where the gate holds what mutates; want %v and %v", gated, strict, tc.gated, tc.strict)
			}
		})
	}
}

// TestRealAnnotations counts what the real servers' tools amount to: the figures of the field that the defaults rest on.
func TestRealAnnotations(t *testing.T) {
	count := map[Because]map[bool]int{BecauseAnnotation: {}, BecauseDefault: {}}
	for _, tool := range realTools(t) {
		v := Effective(tool.Annotations, Hints{}, false)
		if v.Because == BecauseOverride || v.Destructive && v.ReadOnly {
			t.Errorf("tool %q: %+v", tool.Name, v)
		}
		count[v.Because][v.Destructive]++
	}
	if count[BecauseDefault][false] > 0 {
		t.Errorf("%d tools are safe by default", count[BecauseDefault][false])
	}
	t.Logf("annotated: %d destructive, %d not; by default: %d destructive",
		count[BecauseAnnotation][true], count[BecauseAnnotation][false], count[BecauseDefault][true])
}
