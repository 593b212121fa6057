// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestExposition(t *testing.T) {
	m := New()
	m.Served(Operation{Method: "tools/call", Tool: "echo", ProtocolVersion: "2025-11-25", Transport: TCP, Duration: 3 * time.Millisecond})
	m.Served(Operation{Method: "x/" + strings.Repeat("y", 50), Tool: Other, Failure: Failure{Code: -32601}, ProtocolVersion: "yyyy", Duration: time.Millisecond})
	m.Forwarded(Operation{Method: "tools/call", Tool: "echo", Transport: Pipe, Duration: time.Millisecond})
	m.Invoked("echo", "success")
	m.Healthy(true)
	m.CounterFunc("toolgate_child_starts_total", "Processes.", func() int64 { return 1 })
	m.GaugeFunc("toolgate_catalogue_age_seconds", "Age of the catalogue.", func() float64 { return 7 })

	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	body := w.Body.String()
	for _, want := range []string{
		`mcp_server_operation_duration_seconds_count{error_type="",gen_ai_operation_name="execute_tool",gen_ai_tool_name="echo",mcp_method_name="tools/call",mcp_protocol_version="2025-11-25",network_transport="tcp",rpc_response_status_code=""} 1`,
		`mcp_server_operation_duration_seconds_count{error_type="-32601",gen_ai_operation_name="",gen_ai_tool_name="_other",mcp_method_name="_other",mcp_protocol_version="_other",network_transport="",rpc_response_status_code="-32601"} 1`,
		`mcp_server_operation_duration_seconds_bucket{error_type="",gen_ai_operation_name="execute_tool",gen_ai_tool_name="echo",mcp_method_name="tools/call",mcp_protocol_version="2025-11-25",network_transport="tcp",rpc_response_status_code="",le="0.01"} 1`,
		`mcp_context_exchange_duration_seconds_bucket{le="0.0025"} 1`,
		`mcp_tool_invocations_total{outcome="success",tool="echo"} 1`,
		`mcp_server_health_status 1`,
		`toolgate_child_starts_total 1`,
		`toolgate_catalogue_age_seconds 7`,
		`go_goroutines`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("exposition lacks %s", want)
		}
	}
	if strings.Contains(body, "yyyy") {
		t.Error("a method that a client invented became a label")
	}
}

func TestFailuresAsTheConventionsNameThem(t *testing.T) {
	for name, tc := range map[string]struct {
		failure            Failure
		wantType, wantCode string
	}{
		"none":                             {Failure{}, "", ""},
		"a result with isError":            {Failure{Tool: true}, "tool_error", ""},
		"a client that gave up":            {Failure{Cancelled: true}, "cancelled", ""},
		"an error of ours":                 {Failure{Code: -31010}, "-31010", "-31010"},
		"an error that a server made up":   {Failure{Code: 123456789}, "_OTHER", "_OTHER"},
		"an error of the specification":    {Failure{Code: -32602}, "-32602", "-32602"},
		"another error that was made up":   {Failure{Code: -32077}, "_OTHER", "_OTHER"},
		"an error that SDKs give sessions": {Failure{Code: -32001}, "-32001", "-32001"},
	} {
		t.Run(name, func(t *testing.T) {
			if gotType, gotCode := tc.failure.Labels(); gotType != tc.wantType || gotCode != tc.wantCode {
				t.Errorf("got %q and %q", gotType, gotCode)
			}
		})
	}
}

func TestCountingTakesNoMemory(t *testing.T) {
	m := New()
	op := Operation{Method: "tools/call", Tool: "echo", ProtocolVersion: "2025-11-25", Transport: TCP, Duration: time.Millisecond}
	count := func() {
		m.Served(op)
		m.Forwarded(op)
		m.Invoked("echo", "success")
		m.Decided("", "", Allow)
		m.Recorded(nil)
		m.Received(100)
		m.Sent(100)
	}
	count() // each series is made once
	if n := testing.AllocsPerRun(100, count); n != 0 {
		t.Errorf("%v allocations for one call", n)
	}
}
