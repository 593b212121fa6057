// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dispatcher

import "toolgate.dev/toolgate/internal/mcp"

// listChanged tells of a list that discovery was told of, unless the server tells the connection that all share as well.
func (b *backend) listChanged(d *Dispatcher) func(method string) {
	return func(method string) {
		if !b.pool.Hears() {
			d.listChanged(method)
		}
	}
}

// listChanged tells those who listen of a list that has changed. Of tools they hear when discovery has read them anew, since
// that is what they are then given.
func (d *Dispatcher) listChanged(method string) {
	if method != mcp.NotifyToolsChanged {
		d.front.ListChanged(method)
	}
}
