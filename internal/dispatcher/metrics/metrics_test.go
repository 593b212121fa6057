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
	m.Served(Operation{Method: "tools/call", Tool: "echo", ProtocolVersion: "2025-11-25", Duration: 3 * time.Millisecond})
	m.Served(Operation{Method: "x/" + strings.Repeat("y", 50), Tool: Other, ErrorType: "MethodNotFound", Duration: time.Millisecond})
	m.Forwarded(Operation{Method: "tools/call", Tool: "echo", Duration: time.Millisecond})
	m.Invoked("echo", "success")
	m.Failed("Denied")
	m.Decided("gate", "", "refuse")
	m.Reloaded("applied")
	m.Healthy(true)
	m.CounterFunc("toolgate_child_starts_total", "Processes.", func() int64 { return 1 })
	m.GaugeFunc("toolgate_catalogue_age_seconds", "Age of the catalogue.", func() float64 { return 7 })

	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	body := w.Body.String()
	for _, want := range []string{
		`mcp_server_operation_duration_seconds_count{error_type="",gen_ai_tool_name="echo",mcp_method_name="tools/call",mcp_protocol_version="2025-11-25"} 1`,
		`mcp_method_name="_other"`,
		`mcp_tool_invocations_total{outcome="success",tool="echo"} 1`,
		`mcp_errors_total{kind="Denied"} 1`,
		`toolgate_policy_decisions_total{action="refuse",rule="",stage="gate"} 1`,
		`toolgate_registry_reloads_total{result="applied"} 1`,
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
