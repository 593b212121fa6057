// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	policyv1ac "k8s.io/client-go/applyconfigurations/policy/v1"
	"k8s.io/utils/ptr"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/render"
)

// Live is what rendering goes by of the Deployment that is there; the zero value means that there is none.
type Live struct {
	UID types.UID
	// Replicas it asks for.
	Replicas *int32
	// OwnsReplicas says whether FieldOwner has applied them.
	OwnsReplicas bool
	// References is what AnnotationReferences of its pods is to be; "" for none.
	References string
	// StateKey names the key that the dispatchers of its pods have; "" is none.
	StateKey string
}

// LiveOf reads it off a Deployment; owns says whether FieldOwner has applied the number of its pods.
func LiveOf(d *appsv1.Deployment, owns bool) Live {
	return Live{
		UID:          d.UID,
		Replicas:     ptr.To(ptr.Deref(d.Spec.Replicas, 1)),
		OwnsReplicas: owns,
		References:   d.Spec.Template.Annotations[render.AnnotationReferences],
		StateKey:     StateKeyOf(d.Spec.Template.Spec.Volumes),
	}
}

// Scale is what is done about the number of pods.
type Scale struct {
	// Replicas is what the Deployment is applied with; nil leaves it to the autoscaler.
	Replicas *int32
	// HandOver is what is applied under FieldOwnerScaling before; nil is nothing.
	HandOver *int32
}

// ScaleOf decides it. An autoscaler's number is not touched, but that a server out of service has no pods. Since autoscalers
// leave a Deployment of 0 replicas alone, one that comes back into service begins with what the spec says.
func ScaleOf(s *mcpv1alpha1.MCPServer, live Live) Scale {
	wanted := *s.Spec.Effective().Replicas
	switch {
	case render.Disabled(s):
		return Scale{Replicas: ptr.To[int32](0)}
	case !render.ScaledExternally(s), live.Replicas == nil:
		return Scale{Replicas: &wanted}
	case !live.OwnsReplicas:
		return Scale{}
	case *live.Replicas == 0 && wanted != 0:
		return Scale{Replicas: &wanted}
	default:
		return Scale{HandOver: live.Replicas}
	}
}

// ScaleHandOver renders the number of pods alone, to be applied under FieldOwnerScaling. With the UID it never makes a
// Deployment that has gone meanwhile.
func ScaleHandOver(s *mcpv1alpha1.MCPServer, live Live, replicas int32) *appsv1ac.DeploymentApplyConfiguration {
	return appsv1ac.Deployment(s.Name, s.Namespace).
		WithUID(live.UID).
		WithSpec(appsv1ac.DeploymentSpec().WithReplicas(replicas))
}

// PodDisruptionBudget renders how many pods an eviction may take at a time: a quarter, one at least, as a rollout does. Pods
// that don't serve may always go: there is nothing to protect, and they would stand in the way of a node's upgrade for ever.
func PodDisruptionBudget(s *mcpv1alpha1.MCPServer) *policyv1ac.PodDisruptionBudgetApplyConfiguration {
	return policyv1ac.PodDisruptionBudget(s.Name, s.Namespace).
		WithLabels(render.Labels(s.Name)).
		WithOwnerReferences(render.Owner(s)).
		WithSpec(policyv1ac.PodDisruptionBudgetSpec().
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(render.PodSelector(s.Name))).
			WithMaxUnavailable(intstr.FromString("25%")).
			WithUnhealthyPodEvictionPolicy(policyv1.AlwaysAllow))
}
