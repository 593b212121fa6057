// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package workload_test

import (
	"testing"

	"toolgate.dev/toolgate/internal/render/rendertest"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/render/workload"
)

// A person's change of what pods are made of is never taken for a release's, which would have to wait for its turn.
func TestPodInputsFollowReferences(t *testing.T) {
	before := rendertest.Must(workload.PodInputs(rendertest.Listening(), workload.Live{}))
	never := rendertest.Listening()
	never.Spec.RestartOn = mcpv1alpha1.RestartOnNever
	if rendertest.Must(workload.PodInputs(never, workload.Live{})) == before {
		t.Error("restartOn is not among them")
	}
	if rendertest.Must(workload.PodInputs(rendertest.Listening(), workload.Live{References: "1"})) == before {
		t.Error("changed references are not among them")
	}
}
