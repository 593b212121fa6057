// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package cost

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/ext"
)

// checked compiles an expression over args, with the libraries that rules have.
func checked(t *testing.T, text string) (*cel.Env, *cel.Ast) {
	t.Helper()
	env, err := cel.NewEnv(cel.OptionalTypes(), cel.Variable("args", cel.MapType(cel.StringType, cel.DynType)),
		ext.Strings(ext.StringsVersion(5)), ext.Sets(), ext.Lists(ext.ListsVersion(4)), ext.Math(ext.MathVersion(3)),
		ext.Encoders(ext.EncodersVersion(1)), ext.Bindings(ext.BindingsVersion(0)), ext.TwoVarComprehensions())
	if err != nil {
		t.Fatal(err)
	}
	parsed, issues := env.Compile(text)
	if issues.Err() != nil {
		t.Fatal(issues.Err())
	}
	return env, parsed
}

func model(t *testing.T, text string) *Model {
	t.Helper()
	_, parsed := checked(t, text)
	m, unbounded := New(parsed.NativeRep().Expr())
	if unbounded != nil {
		t.Fatal(unbounded)
	}
	return m
}

// plain turns a value of CEL into one that Add measures.
func plain(v ref.Val) any {
	switch v := v.(type) {
	case types.String:
		return string(v)
	case types.Bytes:
		return string(v)
	case *types.Optional:
		if !v.HasValue() {
			return nil
		}
		return plain(v.GetValue())
	case traits.Mapper:
		out := map[string]any{}
		for it := v.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			out[key.ConvertToType(types.StringType).Value().(string)] = plain(v.Get(key))
		}
		return out
	case traits.Lister:
		out := []any{}
		for it := v.Iterator(); it.HasNext() == types.True; {
			out = append(out, plain(it.Next()))
		}
		return out
	default:
		return 1
	}
}

// beyond says in what a value is larger than its bound, down to what it holds.
func beyond(value, bound Extent) string {
	switch {
	case value.text > bound.text:
		return "text"
	case value.count > bound.count:
		return "count"
	case value.nodes > bound.nodes:
		return "nodes"
	case value.bytes > bound.bytes:
		return "bytes"
	case value.each == nil:
		return ""
	}
	if within := beyond(*value.each, bound.element()); within != "" {
		return within + " of an element"
	}
	return ""
}

// TestNoValueIsBeyondItsBound: whatever an expression gives is within the extent that was foretold for it.
func TestNoValueIsBeyondItsBound(t *testing.T) {
	args := map[string]any{
		"s": strings.Repeat("aé\"\n", 9), "sep": ", ", "long": strings.Repeat("xy", 200), "n": 1e300, "i": int64(-9223372036854775807),
		"l": []any{"b", "a", "dddd", "a"}, "ll": []any{[]any{"a", []any{"b"}}, []any{}, []any{strings.Repeat("c", 50)}},
		"m": map[string]any{"key": "value", "deep": map[string]any{"er": []any{"x", "y"}}}, "e": map[string]any{}, "none": []any{},
	}
	for _, text := range []string{
		`args`, `args.s`, `args["m"]`, `args.m.deep.er[0]`, `args.?m.?deep`, `args.?gone.orValue(args.long)`, `args.e`,
		`args.s + args.long`, `args.l + args.ll`, `args.s == "" ? args.s : args.long`, `[args.s, args.long, args.l]`, `{"k": args.long, args.s: args.m}`,
		`args.s.replace("a", args.long)`, `args.s.replace("", args.long)`, `args.s.split("")`, `args.s.split("a")`, `args.s.split("").join(args.long)`,
		`args.l.join()`, `args.l.join(args.long)`, `args.none.join(args.long)`, `args.s.upperAscii()`, `args.s.trim()`, `args.s.substring(3)`, `args.s.reverse()`,
		`args.l.reverse()`, `args.l.slice(1, 3)`, `args.l.sort()`, `args.l.sortBy(x, x)`, `args.l.distinct()`, `args.ll.flatten()`, `args.ll.flatten(2)`, `[[["a", "b", "c"], ["d"]]].flatten(2)`,
		`args.l.first()`, `args.ll.last()`, `args.l.map(x, x + args.long)`, `args.ll.map(x, args.l)`, `args.l.filter(x, x != "a")`,
		`args.l.map(x, args.l.map(y, x + y))`, `args.l.map(x, [x, [x]])`, `args.m.map(k, k + args.long)`, `args.transformMap(k, v, [k, v])`,
		`args.l.transformList(i, v, [string(i), v])`, `args.l.transformMapEntry(i, v, {string(i) + v: args.long})`, `args.l.exists(x, x == "a")`,
		`cel.bind(v, args.s + args.s, [v, v])`, `optional.of(args.m)`, `args.?m.optMap(v, [v, v])`, `strings.quote(args.s)`, `base64.encode(bytes(args.long))`,
		`base64.decode(base64.encode(b"abcdef"))`, `string(args.n)`, `string(args.i)`, `string(1.0 / 3.0)`, `bytes(args.s)`, `json.encode(args)`, `json.encode([args.n, args.s])`,
		`"%s".format([args])`, `"%s %d %f %e".format([args.long, 7, args.n, args.n])`, `"%.100f".format([args.n])`, `"%x %X".format([args.long, 255])`, `"%b".format([9223372036854775807])`,
		`lists.range(50)`, `lists.range(20).map(x, args.s)`, `"literal" + string(b"bytes")`, `{"a": {"b": [args.long]}}.a`,
	} {
		t.Run(text, func(t *testing.T) {
			env, parsed := checked(t, text)
			m, unbounded := New(parsed.NativeRep().Expr())
			if unbounded != nil {
				t.Fatal(unbounded)
			}
			program, err := env.Program(parsed)
			if err != nil {
				t.Fatal(err)
			}
			out, _, err := program.Eval(map[string]any{"args": args})
			if err != nil {
				t.Fatal(err)
			}
			var value Extent
			value.Add(plain(out))
			for name, variable := range map[string]Extent{"the values themselves": Object(args), "all sizes alike": Uniform(500)} {
				s := m.estimate(func(string) Extent { return variable })
				if what := beyond(value, s.value(m.root)); what != "" {
					t.Errorf("with %s: the %s is beyond its bound: %v", name, what, out)
				}
			}
		})
	}
}

// TestWhatCostsMoreIsChargedMore: what a caller can make larger makes the bound larger, by as much as it costs.
func TestWhatCostsMoreIsChargedMore(t *testing.T) {
	for name, tc := range map[string]struct {
		less, more string
		by         uint64 // at least, in units
	}{
		"a loop, by its rounds":                  {`true`, `args.l.all(x, x == x)`, 1000},
		"a loop within a loop":                   {`args.l.all(x, x == x)`, `args.l.all(x, args.l.all(y, x == y))`, 1_000_000},
		"a search for a long text":               {`args.s.contains("a")`, `args.s.indexOf(args.s) == 0`, 60_000},
		"a large pattern":                        {`args.s.matches("a")`, `args.s.matches("a{500}")`, 30_000},
		"a text that is replaced by itself":      {`args.s.trim() != ""`, `args.s.replace("a", args.s) != ""`, 60_000},
		"elements that are compared pairwise":    {`args.l.size() > 0`, `args.l.distinct().size() > 0`, 1_000_000},
		"sets that are compared":                 {`args.l.size() > 0`, `sets.contains(args.l, args.l)`, 1_000_000},
		"a list that is looked through":          {`args.l.size() > 0`, `"a" in args.l`, 1000},
		"a zone of time, which is a file":        {`timestamp("2026-01-01T00:00:00Z").getHours() > 0`, `timestamp("2026-01-01T00:00:00Z").getHours("Europe/Berlin") > 0`, 1000},
		"and of each round of a loop":            {`args.l.all(x, timestamp("2026-01-01T00:00:00Z").getDate() > 0)`, `args.l.all(x, timestamp("2026-01-01T00:00:00Z").getDate("Europe/Berlin") > 0)`, 1_000_000},
		"a loop over what another made a map of": {`args.l.transformMap(i, v, i).all(k, v, v == 1)`, `args.l.transformMap(i, v, args.l).all(k, v, v.all(x, x == x))`, 1_000_000},
		"an object that is compared as a whole":  {`args.l == 1`, `args == args`, 500},
	} {
		t.Run(name, func(t *testing.T) {
			sized := func(string) Extent { return Uniform(1000) }
			less, more := model(t, tc.less).Bound(sized), model(t, tc.more).Bound(sized)
			if more < less+tc.by {
				t.Errorf("%s: %d units, %s: %d, want at least %d more", tc.less, less, tc.more, more, tc.by)
			}
		})
	}
}

// TestUnbounded: what can't be bounded is refused, whatever the values.
func TestUnbounded(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"a pattern of the caller":  {`args.s.matches(args.p)`, "constant"},
		"a range of the caller":    {`lists.range(args.n).size() > 0`, "at most 10000"},
		"a range too long":         {`lists.range(10001).size() > 0`, "at most 10000"},
		"within a loop, too":       {`args.l.all(x, "a".matches(x))`, "constant"},
		"where it would never run": {`false && args.s.matches(args.p)`, "constant"},
	} {
		t.Run(name, func(t *testing.T) {
			_, parsed := checked(t, tc.text)
			_, err := New(parsed.NativeRep().Expr())
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want a word of %q", err, tc.want)
			}
		})
	}
}

// TestBoundsSaturate: values beyond all measure make a bound beyond all measure, never a small one.
func TestBoundsSaturate(t *testing.T) {
	for _, text := range []string{
		`args.l.all(x, args.l.all(y, x == y))`, `args.s.replace("", args.s) != ""`, `args.l.map(x, args.l).flatten().size() > 0`, `sets.equivalent(args.l, args.l)`,
	} {
		if got := model(t, text).Bound(func(string) Extent { return Uniform(math.MaxUint64) }); got < math.MaxUint64/16 {
			t.Errorf("%s: %d", text, got)
		}
	}
}

// TestAdd: an extent holds the largest of what was added, and says how much one value holds.
func TestAdd(t *testing.T) {
	for name, tc := range map[string]struct {
		values                   []any
		text, count, nodes, each uint64 // each is the text of the longest element or key
		wantNodes, wantBytes     uint64 // of the last value
	}{
		"nothing":                         {values: []any{nil}, nodes: 1, wantNodes: 1},
		"a text counts its bytes":         {values: []any{"é"}, text: 2, nodes: 1, wantNodes: 1, wantBytes: 2},
		"a number is as long as it is":    {values: []any{json.Number("12345")}, text: 5, nodes: 1, wantNodes: 1, wantBytes: 5},
		"keys are values":                 {values: []any{map[string]any{"long key": 1}}, count: 1, nodes: 3, each: 8, wantNodes: 3, wantBytes: 8},
		"all depths count":                {values: []any{[]any{[]any{"abc"}, "d"}}, count: 2, nodes: 4, each: 1, wantNodes: 4, wantBytes: 4},
		"texts of their own":              {values: []any{[]string{"a", "bcd"}}, count: 2, nodes: 3, each: 3, wantNodes: 3, wantBytes: 4},
		"the largest holds, not the last": {values: []any{"long text", []any{1, 2, 3}, "x"}, text: 9, count: 3, nodes: 4, wantNodes: 1, wantBytes: 1},
	} {
		t.Run(name, func(t *testing.T) {
			var x Extent
			var nodes, bytes uint64
			for _, v := range tc.values {
				nodes, bytes = x.Add(v)
			}
			if x.text != tc.text || x.count != tc.count || x.nodes != tc.nodes || x.element().text != tc.each || nodes != tc.wantNodes || bytes != tc.wantBytes {
				t.Errorf("%+v with %+v, and %d values of %d bytes", x, x.each, nodes, bytes)
			}
		})
	}
}

// TestObject: members are bounded one by one, so that a large one does not make an expression dear that never looks at it.
func TestObject(t *testing.T) {
	args := Object(map[string]any{"small": "a", "large": strings.Repeat("x", 100_000)})
	bound := func(text string) uint64 { return model(t, text).Bound(func(string) Extent { return args }) }
	if small, large := bound(`args.small.replace("", args.small) != ""`), bound(`args.large.replace("", args.large) != ""`); small > 100 || large < 1_000_000 {
		t.Errorf("the small one %d, the large one %d", small, large)
	}
	// A name that is not known before the call may be any of them.
	if got := bound(`args[args.small].replace("", args.large) != ""`); got < 1_000_000 {
		t.Errorf("by a name of the caller: %d", got)
	}
}
