// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package workload_test

import (
	"slices"
	"strings"
	"testing"

	"toolgate.dev/toolgate/internal/render/rendertest"

	"toolgate.dev/toolgate/internal/render"
	"toolgate.dev/toolgate/internal/render/workload"
)

var platform = workload.Platform{Image: "toolgate.dev/toolgate:v1", ManagerNamespace: "toolgate-system"}

func TestChildren(t *testing.T) {
	for name, s := range rendertest.Servers() {
		t.Run(name, func(t *testing.T) {
			if why := render.Invalid(s); why != "" {
				t.Fatal(why)
			}
			d, err := workload.Deployment(s, platform, workload.Live{})
			if err != nil {
				t.Fatal(err)
			}
			var all []string
			for _, object := range []any{d, workload.Service(s), workload.Peers(s), workload.ServiceAccount(s), rendertest.Must(workload.NetworkPolicy(s, platform)), workload.PodDisruptionBudget(s)} {
				all = append(all, string(rendertest.YAML(t, object)))
			}
			rendertest.Golden(t, name+".yaml", []byte(strings.Join(all, "---\n")))
		})
	}
}

func TestSameObjectsGiveSameBytes(t *testing.T) {
	want := rendertest.YAML(t, rendertest.Must(workload.Deployment(rendertest.Listening(), platform, workload.Live{})))
	for range 50 {
		s := rendertest.Listening()
		slices.Reverse(s.Spec.Service.Hosts) // a set
		if got := rendertest.YAML(t, rendertest.Must(workload.Deployment(s, platform, workload.Live{}))); string(got) != string(want) {
			t.Fatal("two renderings differ")
		}
	}
}
