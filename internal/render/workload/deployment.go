// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/utils/ptr"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/render"
	"toolgate.dev/toolgate/internal/render/shape"
)

// Platform is what rendering needs to know beside the objects: it is the same for every server of an installation.
type Platform struct {
	// Image holds the manager and the dispatcher.
	Image string
	// ImagePullPolicy of Image; empty leaves it to the API server.
	ImagePullPolicy corev1.PullPolicy
	// ManagerNamespace is where the manager's pods run; the dispatchers' admin port is open to them alone. Empty: the
	// manager runs outside of the cluster, and no pod is let in.
	ManagerNamespace string
}

// ManagerLabels are on the manager's pods (config/manager); NetworkPolicies let them in by these.
func ManagerLabels() map[string]string {
	return map[string]string{render.LabelName: "toolgate", render.LabelComponent: "manager"}
}

// Deployment renders the pods of a server. The spec must be one that Invalid accepts.
//
// There are no minReadySeconds: a pod is ready when its catalogue has been read, which is the proof that they would wait for.
func Deployment(s *mcpv1alpha1.MCPServer, p Platform, live Live) (*appsv1ac.DeploymentApplyConfiguration, error) {
	revision, err := render.Revision(s)
	if err != nil {
		return nil, err
	}
	pod, err := podSpec(s, p, revision, live.StateKey)
	if err != nil {
		return nil, err
	}
	spec := appsv1ac.DeploymentSpec().
		WithSelector(metav1ac.LabelSelector().WithMatchLabels(render.PodSelector(s.Name))).
		WithStrategy(strategy(s)).
		WithTemplate(corev1ac.PodTemplateSpec().
			WithLabels(merge(shape.Labels(s.Spec.Pod.Labels), merge(render.Labels(s.Name), map[string]string{render.LabelRevision: revision}))).
			WithAnnotations(podAnnotations(s, live)).
			WithSpec(pod))
	spec.Replicas = ScaleOf(s, live).Replicas
	spec.ProgressDeadlineSeconds = s.Spec.Rollout.ProgressDeadlineSeconds
	return appsv1ac.Deployment(s.Name, s.Namespace).
		WithLabels(render.Labels(s.Name)).
		WithOwnerReferences(render.Owner(s)).
		WithSpec(spec), nil
}

// podAnnotations are the spec's, and what makes pods new when only the content of what they refer to is.
func podAnnotations(s *mcpv1alpha1.MCPServer, live Live) map[string]string {
	if live.References == "" || !Follows(s) {
		return s.Spec.Pod.Annotations
	}
	return merge(s.Spec.Pod.Annotations, map[string]string{render.AnnotationReferences: live.References})
}

// strategy is written out although it is the API's default: with 25 % rounded against unavailability, up to three replicas
// lose none and gain one during a rollout, and a larger server still moves in bounded steps.
func strategy(s *mcpv1alpha1.MCPServer) *appsv1ac.DeploymentStrategyApplyConfiguration {
	if s.Spec.Rollout.Type == mcpv1alpha1.RolloutRecreate {
		return appsv1ac.DeploymentStrategy().WithType(appsv1.RecreateDeploymentStrategyType)
	}
	quarter := intstr.FromString("25%")
	return appsv1ac.DeploymentStrategy().
		WithType(appsv1.RollingUpdateDeploymentStrategyType).
		WithRollingUpdate(appsv1ac.RollingUpdateDeployment().
			WithMaxUnavailable(ptr.Deref(s.Spec.Rollout.MaxUnavailable, quarter)).
			WithMaxSurge(ptr.Deref(s.Spec.Rollout.MaxSurge, quarter)))
}

func podSpec(s *mcpv1alpha1.MCPServer, p Platform, revision, stateKey string) (*corev1ac.PodSpecApplyConfiguration, error) {
	spec := corev1ac.PodSpec().
		WithServiceAccountName(ServiceAccountName(s)).
		WithAutomountServiceAccountToken(false).
		WithEnableServiceLinks(false).
		WithTerminationGracePeriodSeconds(*s.Spec.Effective().Pod.TerminationGracePeriodSeconds).
		WithSecurityContext(shape.PodSecurity(s.Spec.Pod.SecurityContext)).
		WithVolumes(volumes(s)...)
	if err := shape.Placement(spec, &s.Spec.Pod); err != nil {
		return nil, err
	}
	dispatcher, err := dispatcherContainer(s, p, revision)
	if err != nil {
		return nil, err
	}
	withStateKey(s, spec, dispatcher, stateKey)
	if s.Spec.Remote != nil {
		// Nothing else runs here, and a pod needs one container that isn't an init container.
		return spec.WithContainers(dispatcher.WithLifecycle(drainFirst())), nil
	}
	if render.Transport(s) == mcpv1alpha1.TransportStdio {
		spec.WithInitContainers(installContainer(s, p))
	}
	return spec.
		WithInitContainers(dispatcher.WithRestartPolicy(corev1.ContainerRestartPolicyAlways)).
		WithContainers(serverContainer(s)), nil
}

// merge puts ours over theirs: a label that selects pods can't be changed from a spec.
func merge(theirs, ours map[string]string) map[string]string {
	out := maps.Clone(theirs)
	if out == nil {
		out = make(map[string]string, len(ours))
	}
	maps.Copy(out, ours)
	return out
}
