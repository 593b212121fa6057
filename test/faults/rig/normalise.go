// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"encoding/base64"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/registry/shard"
	"toolgate.dev/toolgate/internal/render"
)

// normaliser takes out of the objects of one namespace what no two runs have in common: names that the API server makes up,
// times, counters. What a counter says is kept: whether it is up to date.
type normaliser struct {
	namespace string
	// names are what stands for the digests of the documents as they are, for the UIDs of the objects that are there, and for
	// servers' keys, which are made of those. One of something that is gone, or the key of another, is left as it is, and shows.
	names map[string]string
	// generations are those of the RuleSets.
	generations map[string]int64
}

// times are keys whose values are moments.
var times = map[string]bool{
	"lastTransitionTime": true, "since": true, "lastUpdateTime": true, "startTime": true, "creationTimestamp": true,
	"time": true, "startedAt": true,
}

// podName is how the fake cluster names pods.
var podName = regexp.MustCompile(`-[0-9a-f]{8}-[0-9]+\b`)

func newNormaliser(namespace string, objects []unstructured.Unstructured) *normaliser {
	n := &normaliser{namespace: namespace, names: map[string]string{}, generations: map[string]int64{}}
	for i := range objects {
		o := &objects[i]
		n.names[string(o.GetUID())] = "UID of " + o.GetKind() + " " + o.GetName()
		switch o.GetKind() {
		case "MCPServer":
			key := Keys.Current(o.GetUID())
			n.names[key.Name()] = "KEY"
			n.names[base64.StdEncoding.EncodeToString(key[:])] = "key of " + o.GetName()
		case "ConfigMap":
			for _, file := range []string{registry.FileName, shard.RootFile} {
				if data, ok, _ := unstructured.NestedString(o.Object, "data", file); ok {
					n.names[registry.Digest([]byte(data))] = "digest of " + o.GetName() + ", " + file
				}
			}
		case "RuleSet":
			n.generations[o.GetName()] = o.GetGeneration()
		}
	}
	return n
}

// text replaces what may stand anywhere.
func (n *normaliser) text(s string) string {
	for found, name := range n.names {
		s = strings.ReplaceAll(s, found, name)
	}
	return podName.ReplaceAllString(strings.ReplaceAll(s, n.namespace, "NAMESPACE"), "-POD")
}

func (n *normaliser) object(o *unstructured.Unstructured) any {
	generation := o.GetGeneration()
	meta, _ := o.Object["metadata"].(map[string]any)
	for _, key := range []string{"uid", "resourceVersion", "generation", "selfLink"} {
		delete(meta, key)
	}
	meta["managedFields"] = applied(meta["managedFields"])
	for _, ref := range list(meta["ownerReferences"]) {
		delete(ref, "uid")
	}
	switch o.GetKind() {
	case "Service":
		spec, _ := o.Object["spec"].(map[string]any)
		delete(spec, "clusterIP")
		delete(spec, "clusterIPs")
		delete(spec, "healthCheckNodePort")
		for _, port := range list(spec["ports"]) {
			delete(port, "nodePort")
		}
	case "Deployment":
		// The template has the namespace in it.
		if annotations, _ := meta["annotations"].(map[string]any); annotations[render.AnnotationPodTemplate] != nil {
			annotations[render.AnnotationPodTemplate] = "digest of the template"
		}
	case "ConfigMap":
		data, _ := o.Object["data"].(map[string]any)
		for key, value := range data {
			data[key] = n.document(value.(string))
		}
	}
	scrub(o.Object, generation)
	return o.Object
}

// applied are the fields that our owner has applied: they must not depend on the path either.
func applied(fields any) []any {
	var out []any
	for _, entry := range list(fields) {
		if entry["manager"] == render.FieldOwner {
			out = append(out, map[string]any{"operation": entry["operation"], "fields": entry["fieldsV1"], "subresource": entry["subresource"]})
		}
	}
	return out
}

// document takes the sequence out of a registry document, which rises with every change, and holds generations of RuleSets to
// those that are there.
func (n *normaliser) document(text string) any {
	var doc map[string]any
	if json.Unmarshal([]byte(text), &doc) != nil {
		return text
	}
	delete(doc, "sequence")
	for _, set := range list(doc["ruleSets"]) {
		name, _ := set["name"].(string)
		if generation, ok := set["generation"].(float64); ok {
			set["generation"] = current(int64(generation), n.generations[name])
		}
	}
	return doc
}

func current(seen, live int64) string {
	if seen == live {
		return "current"
	}
	return "stale"
}

// scrub takes out times, at any depth, and says of observed generations whether they are current.
func scrub(value any, generation int64) {
	switch v := value.(type) {
	case map[string]any:
		for key, child := range v {
			switch {
			case times[key]:
				delete(v, key)
			case key == "conditions":
				// A list by type: its order is that in which the types came.
				if all, ok := child.([]any); ok {
					slices.SortStableFunc(all, func(a, b any) int { return strings.Compare(typeOf(a), typeOf(b)) })
				}
				scrub(child, generation)
			case key == "observedGeneration":
				if seen, ok := child.(int64); ok {
					v[key] = current(seen, generation)
				}
			default:
				scrub(child, generation)
			}
		}
	case []any:
		for _, child := range v {
			scrub(child, generation)
		}
	}
}

func typeOf(condition any) string {
	c, _ := condition.(map[string]any)
	name, _ := c["type"].(string)
	return name
}

func list(value any) []map[string]any {
	items, _ := value.([]any)
	var out []map[string]any
	for _, item := range items {
		if m, ok := item.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}
