// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package upstreamtest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/registry"
)

// CallTool calls a tool with raw params. It gives the result, or the error of the server's by its code.
func CallTool(t testing.TB, conn upstream.Conn, params string) (string, error) {
	t.Helper()
	reply, err := conn.Call(t.Context(), upstream.Call{Method: "tools/call", Params: []byte(params)})
	if reply.Error != nil {
		return fmt.Sprintf("error %d", reply.Error.Code), err
	}
	return string(reply.Result), err
}

// WantFailure holds an error to a reason and to what it says. No error may hold the query of a server's URL, which is "secret"
// in tests.
func WantFailure(t testing.TB, err error, reason registry.FailureReason, says string) {
	t.Helper()
	var e *upstream.Error
	if !errors.As(err, &e) || e.Reason != reason || !strings.Contains(e.Message, says) {
		t.Fatalf("error %v (%T), want %s with %q", err, err, reason, says)
	}
	if strings.Contains(fmt.Sprintf("%v %v", err, errors.Unwrap(err)), "secret") {
		t.Errorf("the error holds the URL's query: %v", err)
	}
}
