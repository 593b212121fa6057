// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package gauges

import (
	"context"
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
)

// cache is one of what a test puts in.
type cache struct {
	client.Reader
	servers    []mcpv1alpha1.MCPServer
	tools      []mcpv1alpha1.MCPTool
	ruleSets   []mcpv1alpha1.RuleSet
	configMaps []corev1.ConfigMap
	err        error
}

func (c *cache) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	switch l := list.(type) {
	case *mcpv1alpha1.MCPServerList:
		l.Items = c.servers
	case *mcpv1alpha1.MCPToolList:
		l.Items = c.tools
	case *mcpv1alpha1.RuleSetList:
		l.Items = c.ruleSets
	case *corev1.ConfigMapList:
		l.Items = c.configMaps
	}
	return c.err
}

func conditions(status metav1.ConditionStatus, types ...string) []metav1.Condition {
	var out []metav1.Condition
	for _, kind := range types {
		out = append(out, metav1.Condition{Type: kind, Status: status})
	}
	return out
}

func leading() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// gather reads the gauges: the values of every series that is not 0, by its name and labels.
func gather(t *testing.T, g *Gauges) (map[string]float64, error) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(g); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	out := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, l := range m.GetLabel() {
				name += " " + l.GetValue()
			}
			if v := m.GetGauge().GetValue(); v != 0 {
				out[name] = v
			}
		}
	}
	return out, err
}

func TestCounts(t *testing.T) {
	c := &cache{
		servers: []mcpv1alpha1.MCPServer{
			{Status: mcpv1alpha1.MCPServerStatus{Conditions: conditions(metav1.ConditionTrue, serverConditions...)}},
			{Status: mcpv1alpha1.MCPServerStatus{Conditions: conditions(metav1.ConditionFalse, mcpv1alpha1.ConditionReady, mcpv1alpha1.ConditionHealthy)}},
		},
		tools:    []mcpv1alpha1.MCPTool{{Status: mcpv1alpha1.MCPToolStatus{Conditions: conditions(metav1.ConditionFalse, toolConditions...)}}},
		ruleSets: []mcpv1alpha1.RuleSet{{Status: mcpv1alpha1.RuleSetStatus{Conditions: conditions(metav1.ConditionTrue, ruleSetConditions...)}}},
		configMaps: []corev1.ConfigMap{
			{Data: map[string]string{"registry.json": "12345"}},
			{BinaryData: map[string][]byte{"shard-0.json.gz": []byte("123")}},
		},
	}
	got, err := gather(t, &Gauges{Cache: c, Pods: func() (int, int) { return 7, 2 }, Leads: leading()})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{
		"toolgate_servers Ready True": 1, "toolgate_servers Ready False": 1,
		"toolgate_servers Healthy True": 1, "toolgate_servers Healthy False": 1,
		"toolgate_tools Ready False": 1, "toolgate_tools Registered False": 1, "toolgate_tools Callable False": 1,
		"toolgate_rule_sets Ready True": 1, "toolgate_rule_sets Accepted True": 1, "toolgate_rule_sets Enforced True": 1,
		"toolgate_registry_objects": 2, "toolgate_registry_bytes": 8, "toolgate_registry_largest_object_bytes": 5,
		"toolgate_pods_asked": 7, "toolgate_pods_failing": 2,
	}
	for _, kind := range []string{"Accepted", "Available", "Discovered", "Enforced", "Protected", "Upgraded"} {
		want["toolgate_servers "+kind+" True"], want["toolgate_servers "+kind+" Unknown"] = 1, 1
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
}

func TestWhoDoesNotLeadCountsNothing(t *testing.T) {
	got, err := gather(t, &Gauges{Cache: &cache{err: errors.New("asked")}, Leads: make(chan struct{})})
	if err != nil || len(got) > 0 {
		t.Errorf("error %v, series %v", err, got)
	}
}

func TestAnErrorHidesNothingElse(t *testing.T) {
	got, err := gather(t, &Gauges{Cache: &cache{err: errors.New("not filled")}, Pods: func() (int, int) { return 3, 0 }, Leads: leading()})
	if err == nil || got["toolgate_pods_asked"] != 3 {
		t.Errorf("error %v, series %v", err, got)
	}
}

// row is a line of the tables in docs/metrics.md: name, type, labels.
var row = regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| (gauge) \\| ([^|]*)\\|")

// The document lists what is served, with its labels, and nothing else.
func TestGaugesAreThoseOfTheDocument(t *testing.T) {
	data, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	_, own, found := strings.Cut(string(data), "\n## The manager's own\n")
	if !found {
		t.Fatal("docs/metrics.md has nothing of the manager")
	}
	want := map[string]string{}
	for _, m := range row.FindAllStringSubmatch(own, -1) {
		want[m[1]] = strings.Join(strings.FieldsFunc(m[3], func(r rune) bool { return strings.ContainsRune("`, ", r) }), " ")
	}
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(&Gauges{Cache: &cache{}, Pods: func() (int, int) { return 0, 0 }, Leads: leading()}); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, f := range families {
		var labels []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, l.GetName())
		}
		slices.Sort(labels)
		got[f.GetName()] = strings.Join(labels, " ")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/metrics.md and what is served differ:\n%s", diff)
	}
}
