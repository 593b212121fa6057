// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gauges owns the manager's own metrics: what there is of Toolgate in the cluster, counted in the manager's cache when
// somebody reads them. Nothing is kept between two readings, nothing is asked of the API server, and no label holds a name.
//
// It must not import controllers.
package gauges

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
)

// patience bounds a reading: a cache answers at once or is still filling.
const patience = 5 * time.Second

// Conditions that are counted, by kind: all that the kind has.
var (
	serverConditions = []string{
		mcpv1alpha1.ConditionReady, mcpv1alpha1.ConditionAccepted, mcpv1alpha1.ConditionAvailable, mcpv1alpha1.ConditionDiscovered,
		mcpv1alpha1.ConditionHealthy, mcpv1alpha1.ConditionEnforced, mcpv1alpha1.ConditionProtected, mcpv1alpha1.ConditionUpgraded,
	}
	toolConditions    = []string{mcpv1alpha1.ConditionReady, mcpv1alpha1.ConditionRegistered, mcpv1alpha1.ConditionCallable}
	ruleSetConditions = []string{mcpv1alpha1.ConditionReady, mcpv1alpha1.ConditionAccepted, mcpv1alpha1.ConditionEnforced}
)

// statuses are those of a condition. One that is not there counts as Unknown.
var statuses = []metav1.ConditionStatus{metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown}

// What is served.
var (
	servers  = describe("toolgate_servers", "MCPServers by the status of each of their conditions.", "condition", "status")
	tools    = describe("toolgate_tools", "MCPTools by the status of each of their conditions.", "condition", "status")
	ruleSets = describe("toolgate_rule_sets", "RuleSets by the status of each of their conditions.", "condition", "status")
	objects  = describe("toolgate_registry_objects", "ConfigMaps of registry documents and indexes, shards included.")
	bytes    = describe("toolgate_registry_bytes", "Bytes that they hold together.")
	largest  = describe("toolgate_registry_largest_object_bytes", "Bytes of the largest of them.")
	asked    = describe("toolgate_pods_asked", "Pods of which the manager asks the state.")
	failing  = describe("toolgate_pods_failing", "Pods of these that did not answer when they were last asked.")
)

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

// Gauges implements prometheus.Collector.
type Gauges struct {
	// Cache is what is counted in: it has every kind that is, and is never asked for another.
	Cache client.Reader
	// Pods counts the pods that are asked, and those that fail.
	Pods func() (asked, failing int)
	// Leads is closed when this manager leads. Before, nothing is served: the sum over all managers would count twice.
	Leads <-chan struct{}
}

// Describe implements prometheus.Collector.
func (g *Gauges) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{servers, tools, ruleSets, objects, bytes, largest, asked, failing} {
		out <- d
	}
}

// Collect implements prometheus.Collector. What can't be counted is told as an error of the reading, and the rest is served.
func (g *Gauges) Collect(out chan<- prometheus.Metric) {
	select {
	case <-g.Leads:
	default:
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	g.conditions(ctx, out, servers, &mcpv1alpha1.MCPServerList{}, serverConditions)
	g.conditions(ctx, out, tools, &mcpv1alpha1.MCPToolList{}, toolConditions)
	g.conditions(ctx, out, ruleSets, &mcpv1alpha1.RuleSetList{}, ruleSetConditions)
	g.registry(ctx, out)
	all, bad := g.Pods()
	send(out, asked, all)
	send(out, failing, bad)
}

// conditions counts the objects of a kind.
func (g *Gauges) conditions(ctx context.Context, out chan<- prometheus.Metric, d *prometheus.Desc, list client.ObjectList, types []string) {
	if err := g.Cache.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		out <- prometheus.NewInvalidMetric(d, err)
		return
	}
	count := map[string]map[metav1.ConditionStatus]int{}
	for _, kind := range types {
		count[kind] = map[metav1.ConditionStatus]int{}
	}
	each(list, func(conditions []metav1.Condition) {
		for _, kind := range types {
			count[kind][statusOf(conditions, kind)]++
		}
	})
	for _, kind := range types {
		for _, status := range statuses {
			send(out, d, count[kind][status], kind, string(status))
		}
	}
}

func each(list client.ObjectList, visit func([]metav1.Condition)) {
	switch l := list.(type) {
	case *mcpv1alpha1.MCPServerList:
		for i := range l.Items {
			visit(l.Items[i].Status.Conditions)
		}
	case *mcpv1alpha1.MCPToolList:
		for i := range l.Items {
			visit(l.Items[i].Status.Conditions)
		}
	case *mcpv1alpha1.RuleSetList:
		for i := range l.Items {
			visit(l.Items[i].Status.Conditions)
		}
	}
}

func statusOf(conditions []metav1.Condition, kind string) metav1.ConditionStatus {
	if c := meta.FindStatusCondition(conditions, kind); c != nil {
		return c.Status
	}
	return metav1.ConditionUnknown
}

// registry counts our ConfigMaps: all of them are documents, indexes, or shards of these.
func (g *Gauges) registry(ctx context.Context, out chan<- prometheus.Metric) {
	var list corev1.ConfigMapList
	if err := g.Cache.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		for _, d := range []*prometheus.Desc{objects, bytes, largest} {
			out <- prometheus.NewInvalidMetric(d, err)
		}
		return
	}
	total, most := 0, 0
	for i := range list.Items {
		size := 0
		for _, data := range list.Items[i].Data {
			size += len(data)
		}
		for _, data := range list.Items[i].BinaryData {
			size += len(data)
		}
		total, most = total+size, max(most, size)
	}
	send(out, objects, len(list.Items))
	send(out, bytes, total)
	send(out, largest, most)
}

func send(out chan<- prometheus.Metric, d *prometheus.Desc, n int, labels ...string) {
	out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(n), labels...)
}
