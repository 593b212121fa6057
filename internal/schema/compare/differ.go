// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"maps"
	"slices"
	"strconv"

	"toolgate.dev/toolgate/internal/jsonrpc"
)

// differ lists every keyword that is not what it was, wherever it stands. Whether one breaks anybody is not asked here:
// texts are a patch, and the rest is minor until shown to be worse.
func differ(before, after *document) []Change {
	return differAt(before.node(), after.node())
}

func differAt(before, after node) []Change {
	x, isObject := before.v.(map[string]any)
	y, both := after.v.(map[string]any)
	if !isObject || !both {
		if equal(before.v, after.v) {
			return nil
		}
		return []Change{{Path: after.path, Kind: Minor, Text: show(before.v) + " becomes " + show(after.v)}}
	}
	var out []Change
	names := append(slices.Collect(maps.Keys(x)), slices.Collect(maps.Keys(y))...)
	slices.Sort(names)
	for _, keyword := range slices.Compact(names) {
		_, was := x[keyword]
		_, is := y[keyword]
		switch {
		case !is:
			out = append(out, Change{Path: before.at(keyword).path, Kind: kindOf(keyword), Text: "is gone"})
		case !was:
			out = append(out, added(keyword, after.at(keyword)))
		default:
			out = append(out, differIn(keyword, before, after)...)
		}
	}
	return out
}

func kindOf(keyword string) Kind {
	switch {
	case keyword == "default" || keyword == "$defs" || keyword == "definitions" || keyword == "$id" || keyword == "id":
		return Minor
	case texts[keyword]:
		return Patch
	default:
		return Minor
	}
}

func added(keyword string, n node) Change {
	c := Change{Path: n.path, Kind: kindOf(keyword), Text: "is new"}
	if positionOf(keyword, n.v) == noSchema && c.Kind != Patch {
		c.Text = "is " + show(n.v) + ", which is new"
	}
	return c
}

func differIn(keyword string, before, after node) []Change {
	x, y := before.at(keyword), after.at(keyword)
	if equal(x.v, y.v) {
		return nil
	}
	switch {
	case positionOf(keyword, x.v) == oneSchema && positionOf(keyword, y.v) == oneSchema:
		return differAt(x, y)
	case positionOf(keyword, x.v) == manySchemas && positionOf(keyword, y.v) == manySchemas:
		return differEach(x, y)
	case kindOf(keyword) == Patch:
		return []Change{{Path: y.path, Kind: Patch, Text: "has other words"}}
	default:
		return []Change{{Path: y.path, Kind: kindOf(keyword), Text: show(x.v) + " becomes " + show(y.v)}}
	}
}

// differEach compares lists by place and maps by name.
func differEach(before, after node) []Change {
	var out []Change
	names := map[string]bool{}
	for _, n := range []node{before, after} {
		for _, key := range places(n.v) {
			names[key] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		x, y := before.at(name), after.at(name)
		switch {
		case y.v == nil:
			out = append(out, Change{Path: before.path + "/" + jsonrpc.EscapeToken(name), Kind: Minor, Text: "is gone"})
		case x.v == nil:
			out = append(out, Change{Path: after.path + "/" + jsonrpc.EscapeToken(name), Kind: Minor, Text: "is new"})
		default:
			out = append(out, differAt(x, y)...)
		}
	}
	return out
}

func places(v any) []string {
	switch v := v.(type) {
	case map[string]any:
		return slices.Collect(maps.Keys(v))
	case []any:
		out := make([]string, 0, len(v))
		for i := range v {
			out = append(out, strconv.Itoa(i))
		}
		return out
	default:
		return nil
	}
}
