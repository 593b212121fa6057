// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"testing"

	"toolgate.dev/toolgate/internal/dispatcher/dispatchertest"
	"toolgate.dev/toolgate/internal/dispatcher/upstream"
)

// What is no end of the call is refused whatever revision the server speaks: a client of another one would take it for
// something else.
func TestUnfinishedResults(t *testing.T) {
	for result, finished := range map[string]bool{
		`{"resultType":"input_required","inputRequests":{}}`: false,
		`{"task":{"taskId":"1","status":"working"}}`:         false,
		`{"resultType":"complete","content":[]}`:             true,
		`{"content":[],"task":"a word of the tool's own"}`:   true,
		`{"content":[]}`: true,
	} {
		f := newFixture(t, nil)
		f.server.Answer = func(context.Context, *dispatchertest.Conn, upstream.Call) (upstream.Reply, error) {
			return upstream.Reply{Result: []byte(result)}, nil
		}
		answer := f.call("echo", `{"text":"x"}`)
		if refused := answer.Refusal != nil && answer.Refusal.Reason == "ResultType"; refused == finished {
			t.Errorf("%s: %+v", result, answer)
		}
	}
}
