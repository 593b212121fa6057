// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package rules_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"toolgate.dev/toolgate/internal/rules"
)

// compile compiles sets that must be right.
func compile(t testing.TB, sets ...rules.Set) []*rules.Compiled {
	t.Helper()
	var compiled []*rules.Compiled
	for _, set := range sets {
		c, errs := rules.Compile(set)
		if len(errs) > 0 && set.Broken == "" {
			t.Fatalf("set %s: %v", set.Name, errs)
		}
		compiled = append(compiled, c)
	}
	return compiled
}

// celSet makes a policy set of CEL rules.
func celSet(name string, rs ...rules.Rule) rules.Set {
	return rules.Set{Name: name, Type: rules.TypePolicy, Format: rules.FormatCEL, Rules: rs}
}

// oneRule makes a policy set of one rule that rejects when the condition holds.
func oneRule(when string) rules.Set {
	return celSet("s", rules.Rule{Name: "r", Action: rules.Reject, When: when})
}

// call makes the input of a call of a tool.
func call(args string) rules.Input {
	return rules.Input{
		Tool: rules.ToolInfo{Name: "write_file", Title: "Write", Version: "1.2.0", Destructive: true,
			Hints: rules.Hints{Destructive: true, OpenWorld: true}},
		RawArgs: []byte(args),
		Server: rules.ServerInfo{Name: "files", Namespace: "team-a", Domain: "storage", Trust: "Untrusted",
			Capabilities: []string{"tool_execution", "validation"}},
		Caller: rules.CallerInfo{Kind: "User", Name: "ann", Namespace: "people", Groups: []string{"dev", "ops"},
			Claims: map[string]any{"sub": "ann", "level": int64(3)}},
		Client: rules.ClientInfo{Claimed: map[string]any{"name": "inspector", "version": "2.0"}},
		Call: rules.CallInfo{Method: "tools/call", Name: "write_file", ProtocolVersion: "2025-11-25",
			Time: time.Date(2026, 8, 3, 14, 30, 0, 0, time.UTC)},
	}
}

// TestConditions: what rules see, each with an expression that must hold or must fail.
func TestConditions(t *testing.T) {
	args := `{"path":"/etc/passwd","n":3,"big":9007199254740993,"f":1.5,"whole":2.0,"flag":true,"none":null,
		"list":["a","b"],"nested":{"deep":[{"k":"v"}]},"empty":"","odd-key":"x","dürr":"ü"}`
	for expression, want := range map[string]string{ // true, false, or a part of the error
		`tool.name == "write_file" && tool.title == "Write" && tool.version == "1.2.0" && tool.destructive`:                   "true",
		`tool.hints.destructive && tool.hints.openWorld && !tool.hints.readOnly && !tool.hints.idempotent`:                    "true",
		`server.name == "files" && server.namespace == "team-a" && server.domain == "storage" && server.trust == "Untrusted"`: "true",
		`"validation" in server.capabilities && !("x" in server.capabilities)`:                                                "true",
		`caller.kind == "User" && caller.name == "ann" && caller.namespace == "people" && "ops" in caller.groups`:             "true",
		`caller.claims.sub == "ann" && caller.claims["level"] == 3`:                                                           "true",
		`caller.claims.missing == "x"`:       "no such key: missing",
		`client.claimed.name == "inspector"`: "true",
		`call.method == "tools/call" && call.name == tool.name && call.uri == "" && call.protocolVersion >= "2025-06-18"`: "true",
		`call.time.getHours() == 14 && call.time < timestamp("2026-08-04T00:00:00Z") && call.time.getDayOfWeek() == 1`:    "true",
		`confirmed.by == "" && confirmed.user == ""`:                                    "true",
		`has(confirmed.by)`:                                                             "false",
		`has(tool.title) && has(tool.hints) && has(server.capabilities)`:                "true",
		`dyn(tool).name == "write_file"`:                                                "true",
		`dyn(tool).nothing == "x"`:                                                      "no such field: nothing",
		`tool == tool && caller != dyn(tool)`:                                           "true",
		`args.path.startsWith("/etc/")`:                                                 "true",
		`args.n == 3 && args.n < 4 && args.n > 2.5 && args.n in [1, 3]`:                 "true",
		`args.big == 9007199254740993 && args.big != 9007199254740992`:                  "true",
		`args.f == 1.5 && args.f > 1`:                                                   "true",
		`args.whole == 2 && type(args.whole) == int`:                                    "true",
		`type(args.n) == int && type(args.f) == double && type(args.none) == null_type`: "true",
		`args.flag`:         "true",
		`args.none == null`: "true",
		`args.none.x == 1`:  "no such",
		`args.list.all(x, size(x) == 1) && args.list.exists(x, x == "b") && args.list[1] == "b"`: "true",
		`args.list[5] == "b"`: "index",
		`args.nested.deep[0].k == "v" && has(args.nested.deep)`: "true",
		`args.missing == "x"`:        "no such key: missing",
		`args.nested.missing == "x"`: "no such key: missing",
		`has(args.missing)`:          "false",
		`has(args.missing.more)`:     "no such key: missing",
		`args.?missing.orValue("d") == "d" && args.?path.orValue("d") == "/etc/passwd"`: "true",
		`args.?missing.?more.orValue(1) == 1 && !args.?missing.hasValue()`:              "true",
		`args[?"odd-key"].orValue("") == "x" && args["odd-key"] == "x"`:                 "true",
		`args["dürr"] == "ü" && size(args) == 12`:                                       "true",
		`args.path == 3`:            "false",
		`args.path > 3`:             "no such overload",
		`args.path && true`:         "no such overload",
		`args.path`:                 "not a bool",
		`false && args.missing`:     "false",
		`args.missing == 1 || true`: "true",
		`1 / (args.n - 3) == 0`:     "division by zero",
		`args.path.matches("^/etc/.*") && args.path.find("[a-z]+") == "etc" && args.path.findAll("[a-z]+") == ["etc", "passwd"]`: "true",
		`args.path.find("x+") == ""`: "true",
		`args.path.split("/")[1] == "etc" && args.path.lowerAscii().contains("pass") && "%s-%d".format([args.empty, args.n]) == "-3"`: "true",
		`sets.contains(caller.groups, ["dev"]) && sets.intersects(args.list, ["b", "c"])`:                                             "true",
		`args.list.distinct().size() == 2 && ["b", "a"].sort() == ["a", "b"] && math.greatest(args.n, 7) == 7`:                        "true",
		`base64.encode(b"a") == "YQ==" && cel.bind(p, args.path, p.size() > 3)`:                                                       "true",
		`args.nested.all(k, v, k == "deep") && args.transformMap(k, v, 1).size() == 12`:                                               "true",
		`rawArgs.path == args.path`:                                         "true",
		`args.map(k, args[k]).size() == 12 && args.exists_one(k, k == "n")`: "true",
		`duration("1h") < duration("61m") && timestamp("2026-01-01T00:00:00Z") + duration("24h") == timestamp("2026-01-02T00:00:00Z")`: "true",
		`int("12") == 12 && string(args.n) == "3" && double(args.n) == 3.0 && bool("true") && bytes("a") == b"a" && uint(3) == 3u`:     "true",
	} {
		t.Run(expression, func(t *testing.T) {
			d := rules.Evaluate(compile(t, oneRule(expression)), call(args))
			hit := d.Trace[0]
			switch want {
			case "true", "false":
				if got := fmt.Sprint(hit.Outcome == rules.Applied); got != want || hit.Error != "" {
					t.Errorf("holds: %s (%s), want %s", got, hit.Error, want)
				}
			default:
				if hit.Outcome != rules.Failed || !strings.Contains(hit.Error, want) {
					t.Errorf("outcome %s, error %q, want %q", hit.Outcome, hit.Error, want)
				}
				if d.Action != rules.Reject || !strings.Contains(d.Message, want) {
					t.Errorf("the error does not reject with its cause: %+v", d)
				}
			}
		})
	}
}
