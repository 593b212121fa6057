// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Condition types. Ready is on all three kinds and is derived from the others by one function.
const (
	// ConditionReady is True when the object does what it is for.
	ConditionReady = "Ready"
	// ConditionAccepted is True when the spec can be carried out as it stands.
	ConditionAccepted = "Accepted"
	// ConditionAvailable is True when as many pods as asked for serve.
	ConditionAvailable = "Available"
	// ConditionDiscovered is True when the whole catalogue of the current revision has been read.
	ConditionDiscovered = "Discovered"
	// ConditionHealthy is True when the server answers its probes.
	ConditionHealthy = "Healthy"
	// ConditionEnforced is True when every replica enforces the newest registry document.
	ConditionEnforced = "Enforced"
	// ConditionProtected says whether the dispatcher can be gone round: True (Socket), True (Guarded), False (Unguarded).
	ConditionProtected = "Protected"
	// ConditionRegistered is True when an MCPTool's definition is known and admitted.
	ConditionRegistered = "Registered"
	// ConditionCallable is True when a call of the tool can pass; False says what blocks it.
	ConditionCallable = "Callable"
)
