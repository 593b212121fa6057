// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/render"
)

// protected says whether the dispatcher can be gone round. Pods of another revision count as well: what they have open stays open until
// they are gone, whatever the spec says by now.
func (d *ServerInput) protected(list []metav1.Condition) verdict {
	weakest := d.asked(list)
	listens := d.Server.Spec.Remote == nil && weakest.reason != mcpv1alpha1.ReasonSocket
	for i := range d.Pods {
		p := &d.Pods[i]
		if p.Revision() == d.Revision {
			continue
		}
		if v, runs := d.before(p, list); runs && strength(v, p.listens()) < strength(weakest, listens) {
			weakest, listens = v, p.listens()
		}
	}
	return weakest
}

// asked is the verdict on what the spec asks for.
func (d *ServerInput) asked(list []metav1.Condition) verdict {
	remote := d.Server.Spec.Remote
	switch {
	case remote == nil && render.Transport(d.Server) == mcpv1alpha1.TransportStdio:
		return yes(mcpv1alpha1.ReasonSocket, "the server speaks on pipes that the dispatcher holds; it has no port to go round it")
	case remote == nil:
		return d.guarded(list)
	case strings.HasPrefix(remote.URL, "https://") && len(remote.HeadersFrom) > 0:
		return yes(mcpv1alpha1.ReasonGuarded, "the dispatcher sends the remote server headers from a Secret over https; that the server refuses others can't be seen")
	default:
		return no(mcpv1alpha1.ReasonUnguarded, "whoever reaches spec.remote.url can go round the dispatcher: it sends no credentials over TLS that others don't have")
	}
}

// before is the verdict on a pod of another revision, by the containers that it has; there is none on one in which nothing runs yet. What
// remote server it speaks to nobody remembers, but what was said of it.
func (d *ServerInput) before(p *Pod, list []metav1.Condition) (verdict, bool) {
	switch {
	case p.listens():
		v := d.guarded(list)
		if !d.Guard.Unanswered {
			v.message = "pods of another revision have a port: " + v.message
		}
		return v, true
	case has(p.Status.ContainerStatuses, render.ContainerDispatcher):
		return previous(list, mcpv1alpha1.ConditionProtected)
	default:
		return verdict{}, false
	}
}

// listens says whether a pod's server has a port: one that speaks on pipes is started by a launcher, which another container installs.
func (p *Pod) listens() bool {
	return has(p.Status.ContainerStatuses, render.ContainerServer) && !has(p.Status.InitContainerStatuses, render.ContainerInstall)
}

func has(all []corev1.ContainerStatus, name string) bool {
	return slices.ContainsFunc(all, func(c corev1.ContainerStatus) bool { return c.Name == name })
}

// guarded is the verdict on a server with a port.
func (d *ServerInput) guarded(list []metav1.Condition) verdict {
	last, known := previous(list, mcpv1alpha1.ConditionProtected)
	switch {
	case d.Guard.Refused != (Refusal{}):
		return unknown(d.Guard.Refused.Reason, "the NetworkPolicy that shuts the server's port is not the one that the spec asks for: "+d.Guard.Refused.Message)
	case d.Guard.Unanswered && known && last.reason != mcpv1alpha1.ReasonSocket:
		return last
	case d.Guard.Unanswered:
		return unknown(mcpv1alpha1.ReasonPending, "the NetworkPolicy that shuts the server's port has not been written yet")
	default:
		return yes(mcpv1alpha1.ReasonGuarded, "the server's port is on loopback for the dispatcher, and its own NetworkPolicy shuts it for others, where the network "+
			"enforces policies and no other policy of the namespace opens it (they add up: kubectl get networkpolicy)")
	}
}

// strength orders verdicts: that there is no port is more than that one is shut.
func strength(v verdict, port bool) int {
	switch {
	case v.status == metav1.ConditionFalse:
		return 0
	case v.status == metav1.ConditionUnknown:
		return 1
	case port:
		return 2
	default:
		return 3
	}
}
