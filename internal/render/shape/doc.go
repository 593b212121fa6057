// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package shape turns the short types in which a spec speaks of pods into apply configurations of Kubernetes' own: variables,
// mounts, volumes, probes, where pods may run. It adds nothing of Toolgate's and knows no server. It must not import a client,
// a clock or package render.
package shape
