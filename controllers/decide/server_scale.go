// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/ptr"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/render"
)

// outOfService says why no pod is wanted.
func (d *ServerInput) outOfService() (verdict, bool) {
	switch {
	case render.Disabled(d.Server):
		return no(mcpv1alpha1.ReasonDisabled, "spec.state is Disabled"), true
	case render.Replicas(d.Server, Replicas(d.Deployment)) == 0 && d.Server.Spec.Scaling == mcpv1alpha1.ScalingExternal:
		return no(mcpv1alpha1.ReasonScaledToZero, "spec.scaling is External, and the Deployment has been scaled to 0"), true
	case render.Replicas(d.Server, Replicas(d.Deployment)) == 0:
		return no(mcpv1alpha1.ReasonScaledToZero, "spec.replicas is 0"), true
	default:
		return verdict{}, false
	}
}

// Replicas that a Deployment asks for; nil where there is none.
func Replicas(d *appsv1.Deployment) *int32 {
	if d == nil {
		return nil
	}
	return ptr.To(ptr.Deref(d.Spec.Replicas, 1))
}
