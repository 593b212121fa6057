// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/test/faults/proxy"
)

// kinds make up the state of a namespace, by their plural names. ReplicaSets and Pods are the cluster's.
var kinds = map[string]schema.GroupVersionKind{
	"mcpservers":               mcpv1alpha1.GroupVersion.WithKind("MCPServer"),
	"mcptools":                 mcpv1alpha1.GroupVersion.WithKind("MCPTool"),
	"rulesets":                 mcpv1alpha1.GroupVersion.WithKind("RuleSet"),
	"configmaps":               {Version: "v1", Kind: "ConfigMap"},
	"deployments":              {Group: "apps", Version: "v1", Kind: "Deployment"},
	"networkpolicies":          {Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"},
	"poddisruptionbudgets":     {Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"},
	"secrets":                  {Version: "v1", Kind: "Secret"},
	"serviceaccounts":          {Version: "v1", Kind: "ServiceAccount"},
	"services":                 {Version: "v1", Kind: "Service"},
	"horizontalpodautoscalers": {Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"},
}

// State is what is in a namespace, by kind and name, with all that may differ between two runs of the same taken out.
type State map[string]string

// Objects reads everything in a namespace that counts.
func (r *Rig) Objects(ctx context.Context, namespace string) ([]unstructured.Unstructured, error) {
	var out []unstructured.Unstructured
	for _, plural := range slices.Sorted(maps.Keys(kinds)) {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kinds[plural])
		if err := r.view.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return nil, fmt.Errorf("listing %s: %w", plural, err)
		}
		slices.SortFunc(list.Items, func(a, b unstructured.Unstructured) int { return strings.Compare(a.GetName(), b.GetName()) })
		out = append(out, list.Items...)
	}
	return out, nil
}

// State takes the fingerprint of a namespace.
func (r *Rig) State(ctx context.Context, namespace string) (State, error) {
	objects, err := r.Objects(ctx, namespace)
	if err != nil {
		return nil, err
	}
	n := newNormaliser(namespace, objects)
	out := State{}
	for i := range objects {
		o := &objects[i]
		data, err := json.Marshal(n.object(o))
		if err != nil {
			return nil, fmt.Errorf("encoding %s %s: %w", o.GetKind(), o.GetName(), err)
		}
		out[n.text(o.GetKind()+"/"+o.GetName())] = n.text(string(data))
	}
	return out, nil
}

// Versions are the resource versions of a namespace.
func (r *Rig) Versions(ctx context.Context, namespace string) (map[string]string, error) {
	objects, err := r.Objects(ctx, namespace)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for i := range objects {
		out[objects[i].GetKind()+"/"+objects[i].GetNamespace()+"/"+objects[i].GetName()] = objects[i].GetResourceVersion()
	}
	return out, nil
}

// Diff says how two states differ, in lines; nothing where they do not.
func Diff(want, got State) string {
	var out strings.Builder
	names := maps.Clone(want)
	maps.Copy(names, got)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		switch {
		case want[name] == got[name]:
		case got[name] == "":
			fmt.Fprintf(&out, "%s is missing\n", name)
		case want[name] == "":
			fmt.Fprintf(&out, "%s should not be there:\n%s\n", name, strings.Join(lines(got[name]), "\n"))
		default:
			fmt.Fprintf(&out, "%s (-want +got):\n%s\n", name, cmp.Diff(lines(want[name]), lines(got[name])))
		}
	}
	return out.String()
}

// lines are an object for people.
func lines(object string) []string {
	var out bytes.Buffer
	if err := json.Indent(&out, []byte(object), "", " "); err != nil {
		return []string{object}
	}
	return strings.Split(out.String(), "\n")
}

// Unknown gives the resources among the writes of a manager that no State would show.
func Unknown(writes []proxy.Call) []string {
	var out []string
	for _, call := range writes {
		plural, _, _ := strings.Cut(call.Resource, "/")
		if _, ok := kinds[plural]; !ok && plural != "pods" && !slices.Contains(out, plural) {
			out = append(out, plural)
		}
	}
	return out
}

// Kind is the group, version and kind of those that make up a state, by the kind alone.
func Kind(name string) schema.GroupVersionKind {
	for _, kind := range kinds {
		if kind.Kind == name {
			return kind
		}
	}
	return schema.GroupVersionKind{Kind: name}
}
