// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/render"
	"toolgate.dev/toolgate/internal/render/shape"
)

// Names of the dispatcher's ports.
const (
	portNameMCP     = "mcp"
	portNameAdmin   = "admin"
	portNameProbe   = "probe"
	portNameMetrics = "metrics"
)

// installContainer copies the dispatcher, which is one static binary, to where the server's image can run it. It has the
// dispatcher's resources: ResourceQuotas and LimitRanges ask them of every container, and no pod needs more for it, as both never
// run at a time.
func installContainer(s *mcpv1alpha1.MCPServer, p Platform) *corev1ac.ContainerApplyConfiguration {
	return withImage(corev1ac.Container().WithName(render.ContainerInstall), p).
		WithCommand(dispatcherBinary, "install", "--to", launcherBinary).
		WithTerminationMessagePolicy(corev1.TerminationMessageFallbackToLogsOnError).
		WithResources(dispatcherResources(corev1.ResourceRequirements{
			Limits: s.Spec.Dispatcher.Resources.Limits, Requests: s.Spec.Dispatcher.Resources.Requests,
		})).
		WithSecurityContext(dispatcherSecurity()).
		WithVolumeMounts(corev1ac.VolumeMount().WithName(volumeBin).WithMountPath(binDir))
}

// dispatcherContainer has the kubelet tell no last lines of its log: there are audit records in it. What ends it, it writes itself.
func dispatcherContainer(s *mcpv1alpha1.MCPServer, p Platform, revision string) (*corev1ac.ContainerApplyConfiguration, error) {
	command, err := serveCommand(s, revision)
	if err != nil {
		return nil, err
	}
	return withImage(corev1ac.Container().WithName(render.ContainerDispatcher), p).
		WithCommand(command...).
		// An atomic list whose API version the API server fills in: left out, it would never look applied.
		WithEnv(corev1ac.EnvVar().WithName("POD_UID").WithValueFrom(corev1ac.EnvVarSource().
			WithFieldRef(corev1ac.ObjectFieldSelector().WithAPIVersion("v1").WithFieldPath("metadata.uid"))),
			corev1ac.EnvVar().WithName("POD_IP").WithValueFrom(corev1ac.EnvVarSource().
				WithFieldRef(corev1ac.ObjectFieldSelector().WithAPIVersion("v1").WithFieldPath("status.podIP")))).
		WithPorts(port(portNameMCP, render.PortMCP), port(portNameAdmin, render.PortAdmin), port(portNameProbe, render.PortProbe), port(portNameMetrics, render.PortMetrics)).
		// No startup probe: the server's container starts as soon as this one runs, which saves its user a second.
		WithLivenessProbe(probe("/healthz", 10, 3)).
		WithReadinessProbe(probe("/readyz", 1, 2)).
		WithResources(dispatcherResources(s.Spec.Dispatcher.Resources)).
		WithSecurityContext(dispatcherSecurity()).
		WithVolumeMounts(dispatcherMounts(s)...), nil
}

// serveCommand is the dispatcher's command line. cmd/dispatcher implements it.
func serveCommand(s *mcpv1alpha1.MCPServer, revision string) ([]string, error) {
	upstream, err := render.Upstream(s).Text()
	if err != nil {
		return nil, err
	}
	command := []string{
		dispatcherBinary, "serve",
		"--registry", registryDir,
		"--revision", revision,
		"--upstream", upstream,
		"--listen", fmt.Sprintf(":%d", render.PortMCP),
		"--admin-listen", fmt.Sprintf(":%d", render.PortAdmin),
		"--metrics-listen", fmt.Sprintf(":%d", render.PortMetrics),
		"--probe-listen", fmt.Sprintf(":%d", render.PortProbe),
		"--peers", fmt.Sprintf("%s.%s.svc", render.PeersName(s.Name), s.Namespace),
		"--drain-timeout", fmt.Sprintf("%ds", drainSeconds(s)),
	}
	if render.Transport(s) == mcpv1alpha1.TransportStdio {
		command = append(command, "--launch-socket", launchSocket)
	}
	for _, host := range hosts(s) {
		command = append(command, "--allow-host", host)
	}
	command = append(command, referenceFlags(s)...)
	return append(command, "--log-level", string(s.Spec.Effective().Dispatcher.LogLevel)), nil
}

// hosts are the names by which clients reach a server beside its Service's: a set, of which another order is no change.
func hosts(s *mcpv1alpha1.MCPServer) []string {
	return slices.Sorted(slices.Values(s.Spec.Service.Hosts))
}

// drainSeconds leaves the server a part of the grace period to end in after the drain: a sixth, as of 60 seconds 10.
func drainSeconds(s *mcpv1alpha1.MCPServer) int64 {
	grace := *s.Spec.Effective().Pod.TerminationGracePeriodSeconds
	return grace - grace/6
}

func serverContainer(s *mcpv1alpha1.MCPServer) *corev1ac.ContainerApplyConfiguration {
	c := s.Spec.Container
	ac := corev1ac.Container().
		WithName(render.ContainerServer).
		WithImage(c.Image).
		WithCommand(c.Command...).
		WithArgs(c.Args...).
		WithEnv(shape.Env(serverEnv(s))...).
		WithEnvFrom(shape.EnvFrom(c.EnvFrom)...).
		WithResources(shape.Resources(c.Resources)).
		WithTerminationMessagePolicy(corev1.TerminationMessageFallbackToLogsOnError).
		WithLifecycle(drainFirst()).
		WithSecurityContext(serverSecurity(c.SecurityContext)).
		WithVolumeMounts(
			corev1ac.VolumeMount().WithName(volumeHome).WithMountPath(homeDir),
			corev1ac.VolumeMount().WithName(volumeTmp).WithMountPath(tmpDir))
	if c.ImagePullPolicy != "" {
		ac.WithImagePullPolicy(c.ImagePullPolicy)
	}
	if c.WorkingDir != "" {
		ac.WithWorkingDir(c.WorkingDir)
	}
	if render.Transport(s) == mcpv1alpha1.TransportStdio {
		ac.Command = slices.Concat([]string{
			launcherBinary, "launch", "--socket", launchSocket, "--allow-uid", fmt.Sprint(userDispatcher), "--",
		}, c.Command)
		ac.WithVolumeMounts(
			corev1ac.VolumeMount().WithName(volumeBin).WithMountPath(binDir).WithReadOnly(true),
			corev1ac.VolumeMount().WithName(volumeRun).WithMountPath(runDir))
	} else {
		listens, _ := render.Endpoint(s)
		ac.WithPorts(port("http", listens))
	}
	if s.Spec.DomainModel != nil {
		ac.WithVolumeMounts(modelMount(serverModelDir))
	}
	shape.Probes(ac, c)
	ac.WithVolumeMounts(shape.Mounts(c.VolumeMounts)...)
	return ac
}

// serverEnv puts HOME on the volume that the server's user can write to, and says where the domain model is, unless the spec
// sets these variables itself.
func serverEnv(s *mcpv1alpha1.MCPServer) []mcpv1alpha1.EnvVar {
	env := s.Spec.Container.Env
	ours := []mcpv1alpha1.EnvVar{{Name: "HOME", Value: homeDir}}
	if m := s.Spec.DomainModel; m != nil {
		ours = append(ours, mcpv1alpha1.EnvVar{Name: envModel, Value: serverModelDir + "/" + render.ModelFileName(m)})
	}
	ours = slices.DeleteFunc(ours, func(o mcpv1alpha1.EnvVar) bool {
		return slices.ContainsFunc(env, func(e mcpv1alpha1.EnvVar) bool { return e.Name == o.Name })
	})
	return slices.Concat(ours, env)
}

// serverSecurity is what Pod Security "restricted" asks for, unless the spec wants the server to be root: then the pod's
// runAsNonRoot has to be lifted for this container.
func serverSecurity(c mcpv1alpha1.ContainerSecurity) *corev1ac.SecurityContextApplyConfiguration {
	ac := corev1ac.SecurityContext().
		WithRunAsUser(ptr.Deref(c.RunAsUser, userServer)).
		WithRunAsGroup(ptr.Deref(c.RunAsGroup, userServer)).
		WithAllowPrivilegeEscalation(false).
		WithCapabilities(corev1ac.Capabilities().WithDrop("ALL"))
	if ptr.Deref(c.RunAsUser, userServer) == 0 {
		ac.WithRunAsNonRoot(false)
	}
	if c.RootFilesystem == mcpv1alpha1.VolumeReadOnly {
		ac.WithReadOnlyRootFilesystem(true)
	}
	return ac
}

// drainFirst lets the dispatcher finish calls in flight before the kubelet signals the server: a sidecar is stopped only
// after the containers that it stands before.
func drainFirst() *corev1ac.LifecycleApplyConfiguration {
	return corev1ac.Lifecycle().WithPreStop(corev1ac.LifecycleHandler().WithHTTPGet(
		httpGet("/drain", render.PortAdmin)))
}

func probe(path string, periodSeconds, failures int32) *corev1ac.ProbeApplyConfiguration {
	return corev1ac.Probe().
		WithHTTPGet(httpGet(path, render.PortProbe)).
		WithPeriodSeconds(periodSeconds).
		WithTimeoutSeconds(2).
		WithFailureThreshold(failures)
}

func httpGet(path string, port int32) *corev1ac.HTTPGetActionApplyConfiguration {
	return corev1ac.HTTPGetAction().WithPath(path).WithPort(intstr.FromInt32(port)).WithScheme(corev1.URISchemeHTTP)
}

func port(name string, number int32) *corev1ac.ContainerPortApplyConfiguration {
	return corev1ac.ContainerPort().WithName(name).WithContainerPort(number).WithProtocol(corev1.ProtocolTCP)
}

func withImage(ac *corev1ac.ContainerApplyConfiguration, p Platform) *corev1ac.ContainerApplyConfiguration {
	ac.WithImage(p.Image)
	if p.ImagePullPolicy != "" {
		ac.WithImagePullPolicy(p.ImagePullPolicy)
	}
	return ac
}

func dispatcherSecurity() *corev1ac.SecurityContextApplyConfiguration {
	return corev1ac.SecurityContext().
		WithRunAsUser(userDispatcher).
		WithRunAsGroup(userDispatcher).
		WithRunAsNonRoot(true).
		WithReadOnlyRootFilesystem(true).
		WithAllowPrivilegeEscalation(false).
		WithCapabilities(corev1ac.Capabilities().WithDrop("ALL"))
}

// dispatcherResources asks for what an idle dispatcher with a hundred tools uses, where the spec says nothing. There is no
// limit by default: a dispatcher that is killed for memory takes every session of its pod with it.
func dispatcherResources(want corev1.ResourceRequirements) *corev1ac.ResourceRequirementsApplyConfiguration {
	requests := want.Requests.DeepCopy()
	if requests == nil {
		requests = corev1.ResourceList{}
	}
	for name, quantity := range map[corev1.ResourceName]string{corev1.ResourceCPU: "10m", corev1.ResourceMemory: "32Mi"} {
		_, requested := requests[name]
		_, limited := want.Limits[name]
		if !requested && !limited {
			requests[name] = resource.MustParse(quantity)
		}
	}
	want.Requests = requests
	return shape.Resources(want)
}
