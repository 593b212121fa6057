// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"context"
	"log/slog"
	"testing"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
)

// sink takes every message.
type sink struct{ fakeWire }

func (*sink) Exchange(context.Context, *Call, []byte) error { return nil }
func (*sink) Tell(context.Context, []byte) error            { return nil }

// FuzzReceive holds that nothing that a server sends ends the process, or settles a call with neither result nor error.
func FuzzReceive(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"id":1,"result":`, `[{"id":1}]`, `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}`,
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}`, `{"id":1,"id":2}`, "\xff", `{"id":1`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c := newConn(upstream.Options{}.WithDefaults(), slog.New(slog.DiscardHandler), upstream.Hello{}, nil, &sink{})
		p, err := c.register(upstream.Call{Method: "tools/call", Progress: func([]byte) {}})
		if err != nil {
			t.Fatal(err)
		}
		c.Receive(data, nil)
		select {
		case a := <-p.answer:
			if a.Err == nil && a.Error == nil && a.Result == nil {
				t.Errorf("an empty answer from %q", data)
			}
		default:
		}
		_ = c.Close()
	})
}
