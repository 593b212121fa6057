// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package workload_test

import (
	"encoding/json"
	"slices"
	"testing"

	"toolgate.dev/toolgate/internal/render/rendertest"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/render"
	"toolgate.dev/toolgate/internal/render/workload"
)

func deploymentOf(t *testing.T, s *mcpv1alpha1.MCPServer) appsv1.Deployment {
	t.Helper()
	var d appsv1.Deployment
	through(t, rendertest.Must(workload.Deployment(s, platform, workload.Live{})), &d)
	return d
}

// through reads what was rendered as the API server does.
func through(t *testing.T, rendered, object any) {
	t.Helper()
	data, err := json.Marshal(rendered)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, object); err != nil {
		t.Fatal(err)
	}
}

// TestPodsAreRestricted holds pods that nobody asked more for to the restricted profile of the Pod Security Standards, with
// no token of the API server in them, and a home that can be written to (ToolHive T5, 654 and 1063).
func TestPodsAreRestricted(t *testing.T) {
	for name, s := range rendertest.Servers() {
		t.Run(name, func(t *testing.T) {
			pod := deploymentOf(t, s).Spec.Template.Spec
			if pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken {
				t.Error("a token of the API server is mounted")
			}
			if pod.HostNetwork || pod.HostPID || pod.HostIPC {
				t.Error("the pod has something of its node")
			}
			if sc := pod.SecurityContext; sc == nil || sc.RunAsNonRoot == nil || !*sc.RunAsNonRoot || sc.SeccompProfile == nil ||
				sc.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
				t.Errorf("security context of the pod: %v", pod.SecurityContext)
			}
			for _, v := range pod.Volumes {
				if v.HostPath != nil {
					t.Errorf("volume %s is a folder of the node", v.Name)
				}
			}
			for _, c := range append(pod.InitContainers, pod.Containers...) {
				checkContainer(t, &c)
			}
		})
	}
}

func checkContainer(t *testing.T, c *corev1.Container) {
	t.Helper()
	sc := c.SecurityContext
	if sc == nil || sc.AllowPrivilegeEscalation == nil || *sc.AllowPrivilegeEscalation || sc.Privileged != nil && *sc.Privileged ||
		sc.Capabilities == nil || !slices.Equal(sc.Capabilities.Drop, []corev1.Capability{"ALL"}) || len(sc.Capabilities.Add) > 0 ||
		sc.RunAsUser != nil && *sc.RunAsUser == 0 {
		t.Errorf("security context of %s: %v", c.Name, sc)
	}
	writable := slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == "/home/mcp" && !m.ReadOnly })
	if c.Name == render.ContainerServer && !writable {
		t.Errorf("%s has no home that it can write to", c.Name)
	}
}

// TestOwnersBlockNothing: to block the deletion of an owner takes a right of its own (mcp-lifecycle-operator 258), and only a
// controlling owner hears of what becomes of its children (kmcp K1).
func TestOwnersBlockNothing(t *testing.T) {
	for name, s := range rendertest.Servers() {
		t.Run(name, func(t *testing.T) {
			for kind, rendered := range map[string]any{
				"Deployment": rendertest.Must(workload.Deployment(s, platform, workload.Live{})), "Service": workload.Service(s),
				"ServiceAccount": workload.ServiceAccount(s), "NetworkPolicy": rendertest.Must(workload.NetworkPolicy(s, platform)),
			} {
				var object metav1.PartialObjectMetadata
				through(t, rendered, &object)
				owner := metav1.GetControllerOf(&object)
				switch {
				case owner == nil && kind == "ServiceAccount" && s.Spec.Pod.ServiceAccountName != "": // somebody else's
				case owner == nil || owner.UID != s.UID:
					t.Errorf("%s is not controlled by its server: %v", kind, object.OwnerReferences)
				case owner.BlockOwnerDeletion != nil && *owner.BlockOwnerDeletion:
					t.Errorf("%s blocks the deletion of its server", kind)
				}
			}
		})
	}
}

// TestKubeletsReachTheProbes: kubelets come from addresses that a policy can't name (mcp-lifecycle-operator 259). A person's
// own probes of a server are exempt, as its port is nobody's but the dispatcher's.
func TestKubeletsReachTheProbes(t *testing.T) {
	for name, s := range rendertest.Servers() {
		t.Run(name, func(t *testing.T) {
			pod, policy := deploymentOf(t, s).Spec.Template.Spec, policyOf(t, s)
			probes := 0
			for _, c := range append(pod.InitContainers, pod.Containers...) {
				for _, probe := range []*corev1.Probe{c.StartupProbe, c.ReadinessProbe, c.LivenessProbe} {
					if probe == nil {
						continue
					}
					probes++
					if probe.HTTPGet == nil || !openToAll(policy, probe.HTTPGet.Port.IntValue()) {
						t.Errorf("a probe of %s is kept out: %v", c.Name, probe.ProbeHandler)
					}
				}
			}
			if probes == 0 {
				t.Error("there are no probes")
			}
		})
	}
}

func openToAll(p networkingv1.NetworkPolicySpec, port int) bool {
	return slices.ContainsFunc(p.Ingress, func(r networkingv1.NetworkPolicyIngressRule) bool {
		return len(r.From) == 0 && slices.ContainsFunc(r.Ports, func(n networkingv1.NetworkPolicyPort) bool { return n.Port.IntValue() == port })
	})
}

// TestEveryContainerHasTheResourcesOfTheSpec: a ResourceQuota of limits and a LimitRange refuse a pod for any container without them.
func TestEveryContainerHasTheResourcesOfTheSpec(t *testing.T) {
	want := corev1.ResourceRequirements{
		Limits:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("128Mi")},
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("64Mi")},
	}
	for name, s := range rendertest.Servers() {
		s.Spec.Dispatcher.Resources = want
		if s.Spec.Container != nil {
			s.Spec.Container.Resources = want
		}
		pod := deploymentOf(t, s).Spec.Template.Spec
		for _, c := range append(pod.InitContainers, pod.Containers...) {
			if !equality.Semantic.DeepEqual(c.Resources, want) {
				t.Errorf("%s: container %s has %v", name, c.Name, c.Resources)
			}
		}
	}
}

// TestTheLastLinesOfAContainerAreKept: kubelets tell what a container printed before it failed where it wrote no message of its own, as hardly
// any server does. What the dispatcher prints are audit records, in which there may be what clients sent: those who may read pods need not
// see them.
func TestTheLastLinesOfAContainerAreKept(t *testing.T) {
	for name, s := range rendertest.Servers() {
		pod := deploymentOf(t, s).Spec.Template.Spec
		for _, c := range append(pod.InitContainers, pod.Containers...) {
			want := corev1.TerminationMessageFallbackToLogsOnError
			if c.Name == render.ContainerDispatcher {
				want = ""
			}
			if c.TerminationMessagePolicy != want {
				t.Errorf("%s: container %s has %q, want %q", name, c.Name, c.TerminationMessagePolicy, want)
			}
		}
	}
}
