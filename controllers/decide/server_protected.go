// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/render"
)

// unguarded is said where something that runs the server is refused: whether that is the NetworkPolicy nobody looks at twice.
const unguarded = "the NetworkPolicy that shuts the server's port may not be the one that the spec asks for; Accepted says what is in the way"

// protected says whether the dispatcher can be gone round.
func (d *ServerInput) protected(list []metav1.Condition) verdict {
	remote := d.Server.Spec.Remote
	last, refused := d.lastRefusal(list)
	switch {
	case remote == nil && render.Transport(d.Server) == mcpv1alpha1.TransportStdio:
		return yes(mcpv1alpha1.ReasonSocket, "the server speaks on pipes that the dispatcher holds; it has no port to go round it")
	case remote == nil && d.Refused != (Refusal{}):
		return unknown(d.Refused.Reason, unguarded)
	case remote == nil && refused:
		return unknown(last.reason, unguarded)
	case remote == nil:
		return yes(mcpv1alpha1.ReasonGuarded, "the server's port is on loopback for the dispatcher, and the NetworkPolicy shuts it for others, where the network enforces policies")
	case strings.HasPrefix(remote.URL, "https://") && len(remote.HeadersFrom) > 0:
		return yes(mcpv1alpha1.ReasonGuarded, "the remote server asks for credentials that the dispatcher holds")
	default:
		return no(mcpv1alpha1.ReasonUnguarded, "whoever reaches spec.remote.url can go round the dispatcher: it sends no credentials over TLS that others don't have")
	}
}
