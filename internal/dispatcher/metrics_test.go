// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"toolgate.dev/toolgate/internal/dispatcher/dispatchertest"
	"toolgate.dev/toolgate/internal/dispatcher/metrics"
	"toolgate.dev/toolgate/internal/registry"
)

// row is a line of the tables in docs/metrics.md: name, type, labels.
var row = regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| (counter|gauge|histogram) \\| ([^|]*)\\|")

// The document lists what is served, with its type and labels, and nothing else.
func TestMetricsAreThoseOfTheDocument(t *testing.T) {
	data, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	own, _, _ := strings.Cut(string(data), "\n## The manager's own\n")
	want := map[string]string{}
	for _, m := range row.FindAllStringSubmatch(own, -1) {
		want[m[1]] = described(m[2], strings.FieldsFunc(m[3], func(r rune) bool { return strings.ContainsRune("`, ", r) }))
	}
	d := New(Options{Audit: io.Discard, Log: slog.New(slog.DiscardHandler), Now: time.Now})
	touch(d.metrics)
	families, err := d.metrics.Registry().Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, f := range families {
		if strings.HasPrefix(f.GetName(), "go_") || strings.HasPrefix(f.GetName(), "process_") {
			continue
		}
		var labels []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, l.GetName())
		}
		got[f.GetName()] = described(strings.ToLower(f.GetType().String()), labels)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/metrics.md and what is served differ:\n%s", diff)
	}
}

func described(kind string, labels []string) string {
	slices.Sort(labels)
	return strings.Join(append([]string{kind}, labels...), " ")
}

// touch counts in every series once: those with labels are not served before.
func touch(m *metrics.Metrics) {
	m.Served(metrics.Operation{Method: "ping"})
	m.Forwarded(metrics.Operation{Method: "ping"})
	m.Invoked("echo", "success")
	m.Failed("Denied")
	m.Decided("gate", "", metrics.Refuse)
	m.Violated("arguments", "type")
	m.Confirmation("Confirmed")
	m.Recorded(nil)
	m.Reloaded("applied")
	m.Dropped("no_stream")
	m.HandedOver(true)
	m.Received(1)
}

func TestNoLabelIsAStrangersWord(t *testing.T) {
	r := start(t, &spawner{}, func(d *registry.Document) { d.Policy.Passthrough = []string{"vendor/secret-method"} })
	eventually(t, "ready", r.ready)
	const word = "strangers-word"
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + word + `","arguments":{}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"` + word + `/x"}`,
		`{"jsonrpc":"2.0","method":"notifications/` + word + `"}`,
		`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"` + word + `:y"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"` + word + `"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + word + `","capabilities":{},"clientInfo":{"name":"` + word + `","version":"` + word + `"}}}`,
		`{"jsonrpc":"2.0","id":"` + word + `","method":"tools/call","params":{"name":"echo","arguments":{"text":"` + word + `"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"` + word + `":1}}}`,
		`{"` + word,
	} {
		for _, version := range []string{"", word, "2025-11-25", "session"} {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.base+"/mcp", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Content-Type", "application/json")
			switch version {
			case "":
			case "session":
				request.Header.Set("Mcp-Session-Id", word)
			default:
				request.Header.Set("Mcp-Protocol-Version", version)
			}
			response, err := r.client.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			_ = response.Body.Close()
		}
	}
	if response, err := r.client.Get(r.base + "/api/mcp/tools/" + word); err == nil {
		_ = response.Body.Close()
	}
	_, body := r.get(r.admin + "/metrics")
	if strings.Contains(body, word) {
		t.Errorf("a label holds what a client chose:\n%s", regexp.MustCompile(`(?m)^.*`+word+`.*$`).FindString(body))
	}
	for _, want := range []string{
		`mcp_method_name="_other"`, `gen_ai_tool_name="_other"`, `toolgate_schema_violations_total{keyword="required",subject="arguments"}`,
		`mcp_client_operation_duration_seconds_count{error_type="",gen_ai_operation_name="execute_tool",gen_ai_tool_name="echo",mcp_method_name="tools/call",mcp_protocol_version="2025-11-25",network_transport="pipe",rpc_response_status_code=""}`,
		`toolgate_audit_records_total{result="written"}`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("metrics lack %s", want)
		}
	}
}

func TestDriftIsCounted(t *testing.T) {
	r := start(t, &spawner{definitions: []string{dispatchertest.Echo, dispatchertest.Plain}}, func(d *registry.Document) {
		d.Revisions[dispatchertest.Revision].Tools[0].Digest = "v1:sha256:" + strings.Repeat("0", 64)
	})
	eventually(t, "ready", r.ready)
	_, body := r.get(r.admin + "/metrics")
	for _, want := range []string{
		`toolgate_catalogue_drift_tools{change="changed"} 1`, `toolgate_catalogue_drift_tools{change="unknown"} 1`,
		`toolgate_catalogue_drift_tools{change="gone"} 1`, `toolgate_catalogue_tools 2`, `toolgate_registry_sequence 1`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("metrics lack %s", want)
		}
	}
	if strings.Contains(body, "toolgate_catalogue_age_seconds -1") {
		t.Error("the catalogue has no age")
	}
}

// The document's collector gets spans, audit records and metrics; where it cannot be reached, calls pass and what is dropped is
// counted.
func TestTelemetryGoesWhereTheDocumentSays(t *testing.T) {
	var paths sync.Map
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // a test of what spans hold is beside the package that makes them
		paths.Store(r.URL.Path, true)
	}))
	defer collector.Close()
	r := start(t, &spawner{}, func(d *registry.Document) { d.Telemetry.OTLPEndpoint = collector.URL + "/otlp/" })
	eventually(t, "ready", r.ready)
	counted := func(name string) bool {
		_, body := r.get(r.admin + "/metrics")
		return regexp.MustCompile(`(?m)^` + name + ` [1-9]`).MatchString(body)
	}
	r.call("echo", `{"text":"x"}`)
	eventually(t, "spans are exported", func() bool { return counted("toolgate_spans_exported_total") })
	eventually(t, "audit records are exported", func() bool { return counted("toolgate_audit_records_exported_total") })
	for _, path := range []string{"/otlp/v1/traces", "/otlp/v1/logs"} {
		if _, ok := paths.Load(path); !ok {
			t.Errorf("nothing came to %s", path)
		}
	}
	collector.Close()
	if answer := r.call("echo", `{"text":"x"}`); !strings.Contains(answer, "done") {
		t.Errorf("a call without a collector: %s", answer)
	}
	eventually(t, "spans are dropped", func() bool { return counted("toolgate_spans_dropped_total") })
	eventually(t, "audit records are dropped", func() bool { return counted("toolgate_audit_records_dropped_total") })
	r.write(nil) // no collector any more: what ends sends a last reading of the metrics
	eventually(t, "a reading was tried", func() bool { return counted("toolgate_metrics_dropped_total") })
	eventually(t, "the document is in force", func() bool { return r.state().Registry.Sequence == r.sequence })
}
