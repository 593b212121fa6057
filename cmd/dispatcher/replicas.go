// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net"
	"net/netip"

	"toolgate.dev/toolgate/internal/dispatcher"
)

// replicas say where the other replicas are: at the addresses that --peers has, on the port that this one listens on.
func (f *serveFlags) replicas(e env, l net.Listener) (dispatcher.Replicas, error) {
	if f.peers == "" {
		return dispatcher.Replicas{}, nil
	}
	self, err := netip.ParseAddr(e.getenv("POD_IP"))
	if err != nil {
		return dispatcher.Replicas{}, fmt.Errorf("--peers needs POD_IP in the environment, the address of this replica: %w", err)
	}
	at, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		return dispatcher.Replicas{}, fmt.Errorf("--peers needs a TCP port to listen on, not %s", l.Addr())
	}
	return dispatcher.Replicas{
		Self: self,
		Port: at.AddrPort().Port(),
		Lookup: func(ctx context.Context) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", f.peers)
		},
	}, nil
}
