// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
)

// Refusal is a reason why the spec can't be carried out; the zero value is none.
type Refusal struct {
	Reason  string
	Message string
}

// LastRefusal is what the API server said last of a server's children of this generation, as the status has it; the zero value
// where it refused nothing. An attempt that ends before it answers does not make that untrue.
func LastRefusal(s *mcpv1alpha1.MCPServer) Refusal {
	accepted := meta.FindStatusCondition(s.Status.Conditions, mcpv1alpha1.ConditionAccepted)
	if accepted == nil || accepted.Status != metav1.ConditionFalse || accepted.ObservedGeneration != s.Generation {
		return Refusal{}
	}
	switch accepted.Reason {
	case mcpv1alpha1.ReasonApplyFailed, mcpv1alpha1.ReasonNameConflict:
		return Refusal{Reason: accepted.Reason, Message: accepted.Message}
	default:
		return Refusal{}
	}
}
