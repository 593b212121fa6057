// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"testing"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/render"
)

// A person's change of what pods are made of is never taken for a release's, which would have to wait for its turn.
func TestPodInputsFollowReferences(t *testing.T) {
	before := must(render.PodInputs(listening(), render.Live{}))
	never := listening()
	never.Spec.RestartOn = mcpv1alpha1.RestartOnNever
	if must(render.PodInputs(never, render.Live{})) == before {
		t.Error("restartOn is not among them")
	}
	if must(render.PodInputs(listening(), render.Live{References: "1"})) == before {
		t.Error("changed references are not among them")
	}
}
