// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dialer

import (
	"context"
	"fmt"
	"log/slog"
	"testing"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/registry"
)

type noProcesses struct{}

func (noProcesses) Spawn(context.Context) (upstream.Process, error) { return nil, context.Canceled }

func TestEveryTransportHasADialer(t *testing.T) {
	packages := map[registry.TransportType]string{
		registry.TransportStdio: "*stdio.dialer", registry.TransportStreamableHTTP: "*streamable.dialer",
		registry.TransportSSE: "*httpsse.dialer", registry.TransportWebSocket: "*websocket.dialer",
	}
	for _, transport := range registry.Transports() {
		d, err := New(registry.Upstream{Transport: transport, URL: "http://127.0.0.1:1/"}, noProcesses{}, upstream.Options{}, slog.New(slog.DiscardHandler))
		if err != nil || fmt.Sprintf("%T", d) != packages[transport] {
			t.Errorf("%s: %T, %v", transport, d, err)
		}
	}
}

func TestWhatCannotBeDialled(t *testing.T) {
	for name, u := range map[string]registry.Upstream{
		"stdio without anything to start": {Transport: registry.TransportStdio},
		"a transport that is none":        {Transport: "carrier-pigeon", URL: "http://127.0.0.1:1/"},
		"no URL":                          {Transport: registry.TransportSSE},
	} {
		if _, err := New(u, nil, upstream.Options{}, slog.New(slog.DiscardHandler)); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}
