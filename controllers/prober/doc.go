// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package prober reads what dispatchers say of themselves: GET /state of every pod, over HTTP that is kept alive.
//
// It owns when a pod is asked, how many are asked at once, and the last answer of each. It knows nothing of Kubernetes: who
// is asked comes in as Targets, what was answered goes out as Observations. Nothing here is persistent: after a restart
// every pod is unknown until it has answered, and nobody may take unknown for gone.
package prober
