// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/render"
)

// protected says whether the dispatcher can be gone round.
func (d *ServerInput) protected(list []metav1.Condition) verdict {
	remote := d.Server.Spec.Remote
	last, known := previous(list, mcpv1alpha1.ConditionProtected)
	switch {
	case remote == nil && render.Transport(d.Server) == mcpv1alpha1.TransportStdio:
		return yes(mcpv1alpha1.ReasonSocket, "the server speaks on pipes that the dispatcher holds; it has no port to go round it")
	case remote == nil && d.Guard.Refused != (Refusal{}):
		return unknown(d.Guard.Refused.Reason, "the NetworkPolicy that shuts the server's port is not the one that the spec asks for: "+d.Guard.Refused.Message)
	case remote == nil && d.Guard.Unanswered && known:
		return last
	case remote == nil && d.Guard.Unanswered:
		return unknown(mcpv1alpha1.ReasonPending, "the NetworkPolicy that shuts the server's port has not been written yet")
	case remote == nil:
		return yes(mcpv1alpha1.ReasonGuarded, "the server's port is on loopback for the dispatcher, and its own NetworkPolicy shuts it for others, where the network "+
			"enforces policies and no other policy of the namespace opens it (they add up: kubectl get networkpolicy)")
	case strings.HasPrefix(remote.URL, "https://") && len(remote.HeadersFrom) > 0:
		return yes(mcpv1alpha1.ReasonGuarded, "the remote server asks for credentials that the dispatcher holds")
	default:
		return no(mcpv1alpha1.ReasonUnguarded, "whoever reaches spec.remote.url can go round the dispatcher: it sends no credentials over TLS that others don't have")
	}
}
