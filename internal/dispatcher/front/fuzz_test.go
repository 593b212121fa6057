// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"net/http"
	"testing"

	"toolgate.dev/toolgate/internal/jsonrpc"
)

// FuzzPost sends anything to a session: whatever is no request of its client gets an answer that is JSON, and no byte of it
// reaches the server.
func FuzzPost(f *testing.F) {
	for _, seed := range []string{
		echoCall, initializeBody, `[]`, `{`, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","Name":"x"}}`,
		`{"jsonrpc":"2.0","id":"toolgate-1","result":{}}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"YWZ0ZXI6YQ","_meta":{"progressToken":1}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`,
	} {
		f.Add(seed)
	}
	fx := newFixture(f, nil)
	id := fx.session()
	f.Fuzz(func(t *testing.T, body string) {
		before := len(fx.server.Received())
		w := fx.post(body, headerSession, id, "Accept", "application/json")
		m, err := jsonrpc.Parse([]byte(body), jsonrpc.Limits{})
		switch {
		case err != nil && (w.Code != http.StatusBadRequest || len(fx.server.Received()) != before):
			t.Errorf("%q is no message: %d %s, and the server received %q", body, w.Code, w.Body, fx.server.Received()[before:])
		case err == nil && m.Kind == jsonrpc.Request && jsonrpc.Check(w.Body.Bytes(), jsonrpc.Limits{}) != nil:
			t.Errorf("%q was answered by %d %q", body, w.Code, w.Body)
		case err == nil && m.Kind != jsonrpc.Request && w.Code != http.StatusAccepted && w.Code != http.StatusBadRequest:
			t.Errorf("%q was answered by %d %q", body, w.Code, w.Body)
		}
	})
}
