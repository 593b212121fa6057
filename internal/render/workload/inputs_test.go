// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package workload_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"toolgate.dev/toolgate/internal/render/rendertest"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/render"
	"toolgate.dev/toolgate/internal/render/workload"
)

// TestPodInputsAreWhatPodsAreMadeOf takes every field of one spec over into another: where that changes the pods, it changes
// their inputs. Otherwise a person's change would wait like that of a release.
func TestPodInputsAreWhatPodsAreMadeOf(t *testing.T) {
	of := func(s *mcpv1alpha1.MCPServer) (template, inputs string) {
		t.Helper()
		d, err := workload.Deployment(s, workload.Platform{Image: "toolgate:1"}, workload.Live{})
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(d.Spec.Template)
		if err != nil {
			t.Fatal(err)
		}
		if inputs, err = workload.PodInputs(s, workload.Live{}); err != nil {
			t.Fatal(err)
		}
		return string(data), inputs
	}
	all := rendertest.Servers()
	changed := 0
	for name, base := range all {
		template, inputs := of(base)
		for other, from := range all {
			fields := reflect.TypeFor[mcpv1alpha1.MCPServerSpec]()
			for i := range fields.NumField() {
				s := base.DeepCopy()
				reflect.ValueOf(&s.Spec).Elem().Field(i).Set(reflect.ValueOf(from.Spec).Field(i))
				if s.Spec.Container == nil && s.Spec.Remote == nil || render.Invalid(s) != "" {
					continue
				}
				otherTemplate, otherInputs := of(s)
				if otherTemplate != template {
					changed++
					if otherInputs == inputs {
						t.Errorf("field %s of %s in %s changes pods and not their inputs", fields.Field(i).Name, other, name)
					}
				}
			}
		}
		if one, err := workload.PodInputs(base, workload.Live{References: "x"}); err != nil || one == inputs {
			t.Errorf("what %s refers to is no input (%v)", name, err)
		}
	}
	if changed < 5 {
		t.Errorf("only %d fields have changed anything", changed)
	}
}
