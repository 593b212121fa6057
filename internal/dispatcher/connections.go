// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"toolgate.dev/toolgate/internal/dispatcher/upstream/pool"
	"toolgate.dev/toolgate/internal/registry"
)

// The least that a pool may hold of connections that are processes, and of those that are not.
const (
	minProcesses = pool.DefaultMaxConns
	minSessions  = 1024
)

// maxConns bounds the connections for clients. Limits count per caller: each alone must be able to reach its own.
func (d *Dispatcher) maxConns(transport registry.TransportType) int {
	limits := d.pipeline.Limits()
	least := minSessions
	if transport == registry.TransportStdio {
		least = minProcesses
	}
	return max(least, limits.MaxSessions+limits.MaxConcurrent+pool.DefaultSpares)
}
