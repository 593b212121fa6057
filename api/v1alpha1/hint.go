// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Bool is a hint as a boolean; nil where nothing is said.
func (h Hint) Bool() *bool {
	switch h {
	case HintTrue:
		return new(true)
	case HintFalse:
		return new(false)
	default:
		return nil
	}
}
