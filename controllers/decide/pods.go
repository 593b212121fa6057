// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers/decide/admission"
	"toolgate.dev/toolgate/controllers/polled"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/render"
	"toolgate.dev/toolgate/internal/render/workload"
)

// Unreachable is how long a pod that serves may fail to answer before that is told.
const Unreachable = 10 * time.Second

// Pod is one pod of a server with what its dispatcher says.
type Pod struct {
	*corev1.Pod
	// Seen is the last observation; its State is nil while the dispatcher has not answered.
	Seen polled.Observation
}

// Revision is what the pod's server runs.
func (p *Pod) Revision() string { return p.Labels[render.LabelRevision] }

// Serves says whether the pod is in the endpoints of the Service: ready, and not on its way out. The endpoint controller
// goes by the same two facts.
func (p *Pod) Serves() bool {
	return p.DeletionTimestamp.IsZero() && conditionTrue(p.Pod, corev1.PodReady)
}

// Unheard says that nobody has asked the pod, or that it has not had the time to answer: a pod that serves is in that
// state only for a moment after the manager has started.
func (p *Pod) Unheard() bool { return p.Seen.State == nil && p.Seen.Err == "" }

// untold says that the pod has not been asked, and can be: one without an address has no dispatcher that could answer.
func (p *Pod) untold() bool { return p.Unheard() && (p.Serves() || p.Status.PodIP != "") }

// catalogue is what the pod's server listed; nil where that is not known.
func (p *Pod) catalogue() *registry.Catalogue {
	if p.Seen.State == nil {
		return nil
	}
	return p.Seen.State.Catalogue
}

// sessions is what clients' sessions list beside it.
func (p *Pod) sessions() registry.SessionsState {
	if p.Seen.State == nil {
		return registry.SessionsState{}
	}
	return p.Seen.State.Sessions
}

// enforces says whether the pod's dispatcher has a document in force.
func (p *Pod) enforces(digest string) bool {
	return p.Seen.State != nil && p.Seen.State.Registry.Digest == digest
}

func conditionTrue(p *corev1.Pod, kind corev1.PodConditionType) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == kind && c.Status == corev1.ConditionTrue })
}

// problem says what keeps a pod from serving, as far as the kubelet and the scheduler know; "" when nothing is wrong.
func problem(p *corev1.Pod) (reason, message string) {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			return mcpv1alpha1.ReasonUnschedulable, fmt.Sprintf("pod %s: %s", p.Name, c.Message)
		}
	}
	for _, s := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if reason, message := containerProblem(s); reason != "" {
			return reason, fmt.Sprintf("pod %s: %s", p.Name, message)
		}
	}
	return "", ""
}

func containerProblem(s corev1.ContainerStatus) (reason, message string) {
	// That the dispatcher ends says nothing of the server.
	exited := mcpv1alpha1.ReasonContainerFailed
	if s.Name == render.ContainerServer {
		exited = mcpv1alpha1.ReasonServerExited
	}
	w := s.State.Waiting
	if w == nil {
		if t := s.State.Terminated; t != nil && t.ExitCode != 0 {
			return exited, ended(s.Name, t, "")
		}
		return "", ""
	}
	switch w.Reason {
	case "ImagePullBackOff", "ErrImagePull", "InvalidImageName", "ErrImageNeverPull", "RegistryUnavailable", "ImageInspectError":
		return mcpv1alpha1.ReasonImagePullFailed, fmt.Sprintf("image %s of container %s: %s", s.Image, s.Name, orReason(w))
	case "CreateContainerConfigError":
		if strings.Contains(w.Message, "not found") {
			return mcpv1alpha1.ReasonReferenceNotFound, fmt.Sprintf("container %s: %s", s.Name, orReason(w))
		}
		return mcpv1alpha1.ReasonContainerFailed, fmt.Sprintf("container %s: %s", s.Name, orReason(w))
	case "CreateContainerError", "RunContainerError", "PreCreateHookError", "PreStartHookError", "PostStartHookError":
		return mcpv1alpha1.ReasonContainerFailed, fmt.Sprintf("container %s: %s", s.Name, orReason(w))
	case "CrashLoopBackOff":
		if t := s.LastTerminationState.Terminated; t != nil {
			return exited, ended(s.Name, t, fmt.Sprintf(", %d times so far", s.RestartCount))
		}
		return exited, fmt.Sprintf("container %s keeps exiting, %d times so far", s.Name, s.RestartCount)
	default:
		// ContainerCreating, PodInitializing and what later kubelets may say: on its way.
		return "", ""
	}
}

func orReason(w *corev1.ContainerStateWaiting) string {
	if w.Message == "" {
		return w.Reason
	}
	return w.Message
}

// ended says how a container ended, how often, and what it said last: the message that it wrote, or where it wrote none the end of its log.
func ended(container string, t *corev1.ContainerStateTerminated, times string) string {
	text := fmt.Sprintf("container %s exited with code %d%s", container, t.ExitCode, times)
	if t.Reason == "OOMKilled" {
		field := "spec.container"
		if container != render.ContainerServer {
			field = "spec.dispatcher"
		}
		text = fmt.Sprintf("container %s ran out of memory (OOMKilled)%s; raise %s.resources.limits.memory", container, times, field)
	}
	if last := lastLines(printed(t.Message)); last != "" {
		text += "; its last lines: " + last
	}
	return text
}

// upstreamProblem is what a dispatcher says of its server, and of one that does not answer, whether its pods may reach it at all.
func (d *ServerInput) upstreamProblem(p *Pod) (reason, message string) {
	reason, message = upstreamProblem(p)
	if reason != mcpv1alpha1.ReasonServerUnreachable && reason != mcpv1alpha1.ReasonServerTimeout {
		return reason, message
	}
	if hint := workload.Unreached(d.Server); hint != "" {
		message += "; " + hint
	}
	return reason, message
}

// upstreamProblem says what a dispatcher found wrong with its server, with the last lines of the server's standard error.
func upstreamProblem(p *Pod) (reason, message string) {
	if p.Seen.State == nil || p.Seen.State.Upstream.Phase != registry.UpstreamFailed {
		return "", ""
	}
	u := p.Seen.State.Upstream
	reason = string(u.Reason)
	if reason == "" {
		reason = mcpv1alpha1.ReasonUnhealthy
	}
	return reason, fmt.Sprintf("pod %s: %s", p.Name, withStderr(u))
}

func withStderr(u registry.UpstreamState) string {
	message := cmp.Or(u.Message, string(u.Reason))
	if last := lastLines(u.Stderr); last != "" {
		return message + "; last lines of its standard error: " + last
	}
	return message
}

// count writes a number of things.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// atMost names at most five, and says how many there are.
func atMost(names []string) string {
	const shown = 5
	if len(names) <= shown {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
}

// Firsts are the first catalogues that are recorded, out of those that were kept before and those that pods list.
func Firsts(before admission.Firsts, recorded []mcpv1alpha1.RevisionStatus, pods []Pod) admission.Firsts {
	var listed []*registry.Catalogue
	for i := range pods {
		if cat := pods[i].catalogue(); cat != nil {
			listed = append(listed, cat)
		}
	}
	return before.Keep(recorded, listed)
}

// NewView looks at what the pods of a server list; s is nil where the server is gone.
func NewView(s *mcpv1alpha1.MCPServer, current string, pods []Pod) *admission.View {
	listings := make([]admission.Listing, 0, len(pods))
	for i := range pods {
		listings = append(listings, admission.Listing{
			Revision: pods[i].Revision(), Catalogue: pods[i].catalogue(), Sessions: pods[i].sessions().Tools,
			Serves: pods[i].Serves(), Unheard: pods[i].untold(),
		})
	}
	return admission.NewView(s, current, listings)
}
