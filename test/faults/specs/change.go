// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"slices"
	"strings"
)

// Change sets one leaf, or takes it away again, by JSON merge patches of a spec (RFC 7386).
type Change struct {
	Leaf string
	// Base is the name of the spec on which it was found valid.
	Base       string
	Set, Unset Object
}

// bases are specs to begin with, by kind and name.
var bases = map[string]map[string]Object{
	"MCPServer": {
		"stdio":  {"container": Object{"image": "example.com/files:1", "command": []any{"files"}}},
		"http":   {"container": Object{"image": "example.com/files:1"}, "transport": Object{"type": "streamable-http", "port": 8080}},
		"remote": {"remote": Object{"url": "https://mcp.example.com/first"}, "transport": Object{"type": "streamable-http"}},
	},
	"MCPTool": {"tool": {"serverRef": Object{"name": "files"}, "toolName": "write_file"}},
	"RuleSet": {
		"cel":        {"type": "safety", "format": "cel", "rules": []any{Object{"name": "rule", "action": "Reject", "when": "has(args.path)", "message": "no"}}},
		"jsonSchema": {"type": "safety", "format": "jsonSchema", "rules": []any{Object{"name": "rule", "action": "Reject", "schema": Object{"type": "object"}, "message": "no"}}},
	},
}

// contexts are what some fields need beside them, tried one after the other after nothing.
var contexts = []struct {
	part    string
	context Object
}{
	{"livenessProbe", Object{"container": Object{"livenessProbe": Object{"tcpPort": 8080}}}},
	{"readinessProbe", Object{"container": Object{"readinessProbe": Object{"tcpPort": 8080}}}},
	{"startupProbe", Object{"container": Object{"startupProbe": Object{"tcpPort": 8080}}}},
	{"volumeMounts", Object{"pod": Object{"volumes": []any{Object{"name": "files", "emptyDir": Object{}}}}}},
	{"volumeMounts[].name", Object{"pod": Object{"volumes": []any{Object{"name": "files", "emptyDir": Object{}}, Object{"name": "other", "emptyDir": Object{}}}}}},
	{"egressTo", Object{"network": Object{"egress": "List", "egressTo": []any{Object{"cidr": "203.0.113.0/24"}}}}},
	{"egressTo", Object{"network": Object{"egress": "List"}}},
	{"network.egress", Object{"network": Object{"egressTo": []any{Object{"cidr": "203.0.113.0/24"}}}}},
	{"tolerations", Object{"pod": Object{"tolerations": []any{Object{"key": "files", "operator": "Equal", "effect": "NoExecute"}}}}},
	{"tolerations", Object{"pod": Object{"tolerations": []any{Object{"key": "files", "operator": "Exists", "effect": "NoExecute"}}}}},
	{"topologySpreadConstraints", Object{"pod": Object{"topologySpreadConstraints": []any{Object{"labelSelector": Object{"matchLabels": Object{"example.com/key": "one"}}}}}}},
	{"volumes[].emptyDir", Object{"pod": Object{"volumes": []any{Object{"name": "files"}}}}},
	{"volumes[]", Object{"pod": Object{"volumes": []any{Object{"name": "files", "emptyDir": Object{}}}}}},
	{"volumes[].projected", Object{"pod": Object{"volumes": []any{Object{"projected": Object{"sources": []any{Object{"configMap": "files"}}}}}}}},
	{"env[]", Object{"container": Object{"env": []any{Object{"value": "one"}}}}},
	{"envFrom[]", Object{"container": Object{"envFrom": []any{Object{"configMapRef": "files"}}}}},
	{"trust", Object{"trust": Object{"state": "Trusted"}}},
	{"fsGroupChangePolicy", Object{"pod": Object{"securityContext": Object{"fsGroup": 1000}}}},
	{"confirm", Object{"gating": Object{"destructive": "Confirm"}}},
	{"contract.", Object{"contract": Object{"version": "1.2.3"}}},
	{"nodeSelectorTerms[].matchFields", Object{"pod": Object{"affinity": Object{"nodeAffinity": Object{"requiredDuringSchedulingIgnoredDuringExecution": Object{
		"nodeSelectorTerms": []any{Object{"matchFields": []any{Object{"values": []any{"files"}}}}},
	}}}}}},
	{"preference.matchFields", Object{"pod": Object{"affinity": Object{"nodeAffinity": Object{"preferredDuringSchedulingIgnoredDuringExecution": []any{
		Object{"preference": Object{"matchFields": []any{Object{"values": []any{"files"}}}}},
	}}}}}},
	{"deprecatedIn", Object{"contract": Object{"version": "1.2.3"}}},
	{"audit.redact", Object{"audit": Object{"payloads": "All"}}},
	{"matchLabelKeys", Object{"pod": Object{"topologySpreadConstraints": []any{Object{"labelSelector": Object{"matchLabels": Object{"example.com/key": "one"}}}}}}},
	{"rules[]", Object{"rules": []any{Object{"name": "rule", "action": "Reject", "when": "has(args.path)", "message": "no"}}}},
	{"rules[]", Object{"rules": []any{Object{"name": "rule", "action": "Reject", "schema": Object{"type": "object"}, "message": "no"}}}},
	{"rules[]", Object{"rules": []any{Object{"name": "rule", "action": "Reject", "when": "has(args.path)"}}}},
	{"rules[]", Object{"rules": []any{Object{"name": "rule", "action": "Reject", "message": "no"}}}},
}

// Refused sets what admission takes of an MCPServer, and the API server refuses of its Deployment: an operator without values.
func Refused() Change {
	term := Object{"topologyKey": "kubernetes.io/hostname", "labelSelector": Object{
		"matchExpressions": []any{Object{"key": "example.com/key", "operator": "In"}},
	}}
	return Change{
		Leaf: "MCPServer.pod.affinity.podAntiAffinity, which the Deployment refuses", Base: "stdio",
		Set:   Object{"pod": Object{"affinity": Object{"podAntiAffinity": Object{"requiredDuringSchedulingIgnoredDuringExecution": []any{term}}}}},
		Unset: Object{"pod": Object{"affinity": nil}},
	}
}

// Base is a spec to begin with.
func Base(kind, name string) Object { return clone(bases[kind][name]).(Object) }

// Valid finds changes that set the leaf, at most as many as asked for, by asking what the API server would take. Without any,
// the error is what it said last.
func (l Leaf) Valid(most int, try func(kind string, spec Object) error) ([]Change, error) {
	var out []Change
	var last error
	for _, fragment := range l.fragments {
		if len(out) == most {
			break
		}
		c, err := l.valid(fragment, try)
		if err != nil {
			last = err
			continue
		}
		out = append(out, c)
	}
	if len(out) > 0 {
		return out, nil
	}
	return nil, last
}

func (l Leaf) valid(fragment Object, try func(kind string, spec Object) error) (Change, error) {
	var last error
	for _, base := range []string{"stdio", "http", "remote", "tool", "cel", "jsonSchema"} {
		if bases[l.Kind][base] == nil {
			continue
		}
		for _, context := range l.around() {
			set := deep(clone(context), fragment).(Object)
			if last = try(l.Kind, Merge(Base(l.Kind, base), set)); last == nil {
				return Change{Leaf: l.Kind + l.Path, Base: base, Set: set, Unset: l.unset()}, nil
			}
		}
	}
	return Change{}, last
}

// unset takes the leaf away, or the list or map that holds it.
func (l Leaf) unset() Object {
	path, _, _ := strings.Cut(l.Path, "[")
	path, _, _ = strings.Cut(path, "{")
	parts := strings.Split(strings.TrimPrefix(path, "."), ".")
	var out any
	for _, part := range slices.Backward(parts) {
		out = Object{part: out}
	}
	return out.(Object)
}

// Merge applies a merge patch to a copy of a spec.
func Merge(spec, patch Object) Object {
	out := clone(spec).(Object)
	for key, value := range patch {
		switch v := value.(type) {
		case nil:
			delete(out, key)
		case Object:
			below, _ := out[key].(Object)
			if below == nil {
				below = Object{}
			}
			out[key] = Merge(below, v)
		default:
			out[key] = clone(value)
		}
	}
	return out
}

// deep lays one value over another, lists item by item.
func deep(under, over any) any {
	switch o := over.(type) {
	case Object:
		u, ok := under.(Object)
		if !ok {
			return clone(over)
		}
		for key, value := range o {
			u[key] = deep(u[key], value)
		}
		return u
	case []any:
		u, ok := under.([]any)
		if !ok {
			return clone(over)
		}
		for i, value := range o {
			if i < len(u) {
				u[i] = deep(u[i], value)
			} else {
				u = append(u, clone(value))
			}
		}
		return u
	default:
		return over
	}
}

func clone(value any) any {
	switch v := value.(type) {
	case Object:
		out := make(Object, len(v))
		for key, child := range v {
			out[key] = clone(child)
		}
		return out
	case []any:
		out := make([]any, 0, len(v))
		for _, child := range v {
			out = append(out, clone(child))
		}
		return out
	case int:
		return int64(v)
	default:
		return value
	}
}
