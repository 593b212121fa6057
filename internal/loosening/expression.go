// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package loosening

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
)

// Names of the variables that the expressions of a policy share: the spec as it would be and as it was (an empty one for what is new), and
// whether the server is Trusted in both.
const (
	is, was = "variables.is", "variables.was"
	trusted = "variables.trusted"
)

// defaults gives what an absent field of a kind means, by path: while the server is not trusted for good, and while it is.
type defaults struct{ strict, trusted map[string]any }

func defaultsOf(kind string) (defaults, error) {
	switch kind {
	case KindMCPServer:
		s := mcpv1alpha1.MCPServerSpec{Container: &mcpv1alpha1.Container{}}
		strict := s.Effective()
		s.Trust.State = mcpv1alpha1.Trusted
		return decoded(strict, s.Effective())
	case KindMCPTool:
		s := (&mcpv1alpha1.MCPToolSpec{}).Effective()
		return decoded(s, s)
	default:
		return defaults{}, fmt.Errorf("kind %s has no verb", kind)
	}
}

func decoded(strict, trusted any) (defaults, error) {
	var d defaults
	for _, side := range []struct {
		from any
		to   *map[string]any
	}{{strict, &d.strict}, {trusted, &d.trusted}} {
		data, err := json.Marshal(side.from)
		if err != nil {
			return defaults{}, fmt.Errorf("reading defaults: %w", err)
		}
		if err := json.Unmarshal(data, side.to); err != nil {
			return defaults{}, fmt.Errorf("reading defaults: %w", err)
		}
	}
	return d, nil
}

// at follows a path through decoded JSON; nil where it leads nowhere.
func at(m map[string]any, path string) any {
	first, rest, more := strings.Cut(path, ".")
	if !more {
		return m[first]
	}
	below, ok := m[first].(map[string]any)
	if !ok {
		return nil
	}
	return at(below, rest)
}

// orDefault is the value of a field at one side (is or was), or what its absence means there.
func (d defaults) orDefault(side, path string) string {
	strict, loose := literal(at(d.strict, path)), literal(at(d.trusted, path))
	if path == "trust.state" || strict == loose {
		return fmt.Sprintf("%s.orValue(%s)", field(side, path), strict)
	}
	return fmt.Sprintf("%s.orValue(%sForGood ? %s : %s)", field(side, path), side, loose, strict)
}

// field is the optional value of a field at one side.
func field(side, path string) string { return side + ".?" + strings.ReplaceAll(path, ".", ".?") }

func literal(v any) string {
	switch v := v.(type) {
	case string:
		return "'" + v + "'"
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	default:
		return "''"
	}
}

// expression says in CEL whether a change loosens a field; empty for a field that never does.
func expression(c Class, path string, d defaults) (string, error) {
	now, before := field(is, path), field(was, path)
	if values := c.Order(); values != nil {
		return ordered(values, path, d), nil
	}
	switch c {
	case Neutral:
		return "", nil
	case Revision, WhileTrusted:
		return fmt.Sprintf("%s && %s", trusted, differ(path, d)), nil
	case WhileExposed:
		return fmt.Sprintf("%s.?service.?type.orValue('ClusterIP') != 'ClusterIP' && %s != %s", is, now, before), nil
	case Either:
		return fmt.Sprintf("%s != %s", now, before), nil
	case Promise:
		return fmt.Sprintf("%s.hasValue() && %s != %s", before, now, before), nil
	case Naming:
		return fmt.Sprintf("%s.hasValue() && %s != %s", now, now, before), nil
	case Declaration:
		return "variables.declares", nil
	case More:
		return fmt.Sprintf("%s > %s", d.orDefault(is, path), d.orDefault(was, path)), nil
	case MoreOr0:
		return fmt.Sprintf("%s > %s", boundless(d.orDefault(is, path)), boundless(d.orDefault(was, path))), nil
	case MoreOrNone:
		return fmt.Sprintf("%s.orValue(%d) > %s.orValue(%d)", now, math.MaxInt32, before, math.MaxInt32), nil
	case Later:
		return fmt.Sprintf("%s.hasValue() && (!%s.hasValue() || timestamp(%s.value()) > timestamp(%s.value()))", before, now, now, before), nil
	case Adding:
		return fmt.Sprintf("%s.orValue([]).exists(e, !(e in %s.orValue([])))", now, before), nil
	case Removing:
		return fmt.Sprintf("%s.orValue([]).exists(e, !(e in %s.orValue([])))", before, now), nil
	default:
		return "", fmt.Errorf("class %q is none", c)
	}
}

// ordered compares places in the order of an enum.
func ordered(values []string, path string, d defaults) string {
	quoted := make([]string, len(values))
	rank := func(side string) string { return d.orDefault(side, path) }
	for i, v := range values {
		if v == Absent {
			v = ""
			rank = func(side string) string { return field(side, path) + ".orValue('')" }
		}
		quoted[i] = "'" + v + "'"
	}
	list := "[" + strings.Join(quoted, ", ") + "]"
	return fmt.Sprintf("%s.indexOf(%s) > %s.indexOf(%s)", list, rank(is), list, rank(was))
}

// differ compares a field at both sides, so that writing down a default is no change.
func differ(path string, d defaults) string {
	if at(d.strict, path) != nil {
		return fmt.Sprintf("%s != %s", d.orDefault(is, path), d.orDefault(was, path))
	}
	return fmt.Sprintf("%s != %s", field(is, path), field(was, path))
}

// boundless reads 0 as more than every other number.
func boundless(number string) string {
	return fmt.Sprintf("[%s].map(n, n == 0 ? %d : n)[0]", number, math.MaxInt32)
}
