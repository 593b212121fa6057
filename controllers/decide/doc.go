// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package decide computes the status of the three kinds from what was gathered: objects, pods, and what dispatchers say.
//
// It owns every condition's truth, reason and words, what counts as a pod that serves, and which definitions are admitted.
// Its functions are pure: no client, no clock (Now comes in), no order of maps. It must not import controller-runtime.
//
// What is not known is not false: where no dispatcher has answered since the manager started, the last status stands.
package decide
