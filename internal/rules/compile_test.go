// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package rules_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"toolgate.dev/toolgate/internal/rules"
	"toolgate.dev/toolgate/internal/rules/expression"
)

func TestCompileRefuses(t *testing.T) {
	good := func(change func(*rules.Set)) rules.Set {
		s := set("s", rules.TypePolicy, 0, rule("r", rules.Reject, on, nil))
		change(&s)
		return s
	}
	when := func(expression string) rules.Set {
		return good(func(s *rules.Set) { s.Rules[0].When = expression })
	}
	for name, tc := range map[string]struct {
		set  rules.Set
		want rules.RuleError // Message is a part of it
	}{
		"a set without a name":       {good(func(s *rules.Set) { s.Name = "" }), rules.RuleError{Field: "name"}},
		"an unknown type":            {good(func(s *rules.Set) { s.Type = "advice" }), rules.RuleError{Field: "type", Message: "safety, policy or validation"}},
		"a type that is not built":   {good(func(s *rules.Set) { s.Type = rules.TypeRouting }), rules.RuleError{Field: "type", Message: "routing, which is not built yet"}},
		"an unknown enforcement":     {good(func(s *rules.Set) { s.Enforcement = "Off" }), rules.RuleError{Field: "enforcement", Message: "Enforce or Audit"}},
		"a format that is not built": {good(func(s *rules.Set) { s.Format = "shacl" }), rules.RuleError{Field: "format", Message: "cel or jsonSchema"}},
		"an unknown reach":           {good(func(s *rules.Set) { s.Reach = "All" }), rules.RuleError{Field: "reach"}},
		"an empty list of tools":     {good(func(s *rules.Set) { s.Tools = &rules.ToolSelector{Names: []string{}} }), rules.RuleError{Field: "tools.names", Message: "selects nothing"}},
		"an empty list of methods":   {good(func(s *rules.Set) { s.Methods = []string{} }), rules.RuleError{Field: "methods", Message: "selects nothing"}},
		"an empty name of a tool":    {good(func(s *rules.Set) { s.Tools = &rules.ToolSelector{Names: []string{""}} }), rules.RuleError{Field: "tools.names"}},
		"callers that are nobody":    {good(func(s *rules.Set) { s.Callers = &rules.Callers{} }), rules.RuleError{Field: "callers", Message: "selects nobody"}},
		"an empty list of groups":    {good(func(s *rules.Set) { s.Callers = &rules.Callers{Groups: []string{}} }), rules.RuleError{Field: "callers.groups", Message: "selects nothing"}},
		"an empty name of a caller":  {good(func(s *rules.Set) { s.Callers = &rules.Callers{Names: []string{""}} }), rules.RuleError{Field: "callers.names", Message: "empty name"}},
		"a method that is none":      {good(func(s *rules.Set) { s.Methods = []string{"tools call"} }), rules.RuleError{Field: "methods"}},
		"tools beside a method without": {good(func(s *rules.Set) {
			s.Methods = []string{"resources/read"}
			s.Tools = &rules.ToolSelector{Names: []string{"a"}}
		}), rules.RuleError{Field: "methods", Message: "a set of its own"}},
		"an unknown destructive":   {good(func(s *rules.Set) { s.Tools = &rules.ToolSelector{Destructive: "Yes"} }), rules.RuleError{Field: "tools.destructive"}},
		"too many rules":           {good(func(s *rules.Set) { s.Rules = make([]rules.Rule, rules.MaxRules+1) }), rules.RuleError{Field: "rules", Message: "at most 128"}},
		"a rule without a name":    {good(func(s *rules.Set) { s.Rules[0].Name = "" }), rules.RuleError{Field: "name"}},
		"two rules of one name":    {good(func(s *rules.Set) { s.Rules = append(s.Rules, s.Rules[0]) }), rules.RuleError{Rule: "r", Field: "name", Message: "another rule"}},
		"a rule without an action": {good(func(s *rules.Set) { s.Rules[0].Action = "" }), rules.RuleError{Rule: "r", Field: "action", Message: "missing"}},
		"an unknown action":        {good(func(s *rules.Set) { s.Rules[0].Action = "Deny" }), rules.RuleError{Rule: "r", Field: "action"}},
		"no condition":             {when(""), rules.RuleError{Rule: "r", Field: "when", Message: "exactly one"}},
		"two conditions":           {good(func(s *rules.Set) { s.Rules[0].Require = on }), rules.RuleError{Rule: "r", Field: "when", Message: "exactly one"}},
		"a schema in a set of cel": {good(func(s *rules.Set) { s.Rules[0] = rules.Rule{Name: "r", Action: rules.Reject, Schema: []byte(`{}`)} }), rules.RuleError{Rule: "r", Field: "schema", Message: "the set's format is cel"}},
		"a schema that does not compile": {good(func(s *rules.Set) {
			s.Format = rules.FormatJSONSchema
			s.Rules[0] = rules.Rule{Name: "r", Action: rules.Reject, Schema: []byte(`{"properties":{"a":{"type":"strin"}}}`)}
		}), rules.RuleError{Rule: "r", Field: "schema/properties/a/type", Message: `"string"`}},
		"a syntax error":                   {when("args.path ==\n  )"), rules.RuleError{Rule: "r", Field: "when", Line: 2, Column: 3, Message: "Syntax error"}},
		"an unknown variable":              {when(`true && argz.path == ""`), rules.RuleError{Rule: "r", Field: "when", Line: 1, Column: 9, Message: "undeclared reference to 'argz'"}},
		"an unknown field":                 {when(`tool.nam == ""`), rules.RuleError{Rule: "r", Field: "when", Line: 1, Column: 5, Message: "undefined field 'nam'"}},
		"an unknown function":              {when(`args.path.sha256() == ""`), rules.RuleError{Rule: "r", Field: "when", Line: 1, Column: 17, Message: "sha256"}},
		"types that do not fit":            {when(`tool.name > 3`), rules.RuleError{Rule: "r", Field: "when", Line: 1, Column: 11, Message: "no matching overload"}},
		"a condition that is no bool":      {when(`tool.name`), rules.RuleError{Rule: "r", Field: "when", Message: "gives string, but must give bool"}},
		"a pattern with lookahead":         {when(`args.path.matches("(?!a)b")`), rules.RuleError{Rule: "r", Field: "when", Line: 1, Column: 19, Message: "invalid"}},
		"a pattern of too many steps":      {when(`args.path.matches("((a{100}){9}b){9}")`), rules.RuleError{Rule: "r", Field: "when", Line: 1}},
		"a pattern that is no constant":    {when(`args.path.matches(args.pattern)`), rules.RuleError{Rule: "r", Field: "when", Line: 1, Column: 23, Message: "must be a constant"}},
		"a range without bound":            {when(`lists.range(args.n).size() > 0`), rules.RuleError{Rule: "r", Field: "when", Line: 1, Column: 12, Message: "at most 10000"}},
		"texts that double":                {when(doubling("args.s")), rules.RuleError{Rule: "r", Field: "when", Message: "over the limit"}},
		"lists that double":                {when(doubling("args.l")), rules.RuleError{Rule: "r", Field: "when", Message: "over the limit"}},
		"replacements that multiply":       {when(`args.s.replace("a", args.s).replace("b", args.s).replace("c", args.s) == ""`), rules.RuleError{Rule: "r", Field: "when", Message: "over the limit"}},
		"lists of lists that are joined":   {when(`args.l.map(x, args.l.map(y, args.l.map(z, args.s))).flatten().flatten().join("") == ""`), rules.RuleError{Rule: "r", Field: "when", Message: "over the limit"}},
		"an invalid duration":              {when(`duration("1 hour") == duration("1h")`), rules.RuleError{Rule: "r", Field: "when", Line: 1, Column: 10}},
		"a literal of our own types":       {when(`toolgate.Tool{name: "a"} == tool`), rules.RuleError{Rule: "r", Field: "when"}},
		"an expression that is too long":   {when(`"` + strings.Repeat("a", expression.MaxSize) + `" == ""`), rules.RuleError{Rule: "r", Field: "when", Message: "at most 8192"}},
		"an expression nested too deep":    {when(strings.Repeat("(", 300) + "true" + strings.Repeat(")", 300)), rules.RuleError{Rule: "r", Field: "when"}},
		"more levels than are read":        {when("args.n == " + strings.Repeat("1 + ", 100) + "1"), rules.RuleError{Rule: "r", Field: "when", Message: "recursion"}},
		"more parts than are read":         {when("args.n in [" + strings.Repeat("1, ", 2500) + "1]"), rules.RuleError{Rule: "r", Field: "when", Message: "limit"}},
		"loops that cost too much":         {when(`args.a.all(x, args.b.all(y, args.c.all(z, x == y && y == z)))`), rules.RuleError{Rule: "r", Field: "when", Message: "over the limit of 1000000"}},
		"a message with an unknown name":   {good(func(s *rules.Set) { s.Rules[0].Message = "a\nsee {arg.path}" }), rules.RuleError{Rule: "r", Field: "message", Line: 2, Column: 5, Message: "args, call, caller"}},
		"a message with an unknown field":  {good(func(s *rules.Set) { s.Rules[0].Message = "{tool.nam}" }), rules.RuleError{Rule: "r", Field: "message", Line: 1, Column: 1, Message: "has no field nam"}},
		"a message with a whole object":    {good(func(s *rules.Set) { s.Rules[0].Message = "{tool.hints}" }), rules.RuleError{Rule: "r", Field: "message", Message: "name a field of it"}},
		"a message that is too long":       {good(func(s *rules.Set) { s.Rules[0].Message = strings.Repeat("a", 1025) }), rules.RuleError{Rule: "r", Field: "message", Message: "at most 1024"}},
		"a message that is no string":      {good(func(s *rules.Set) { s.Rules[0].MessageExpression = "1 + 1" }), rules.RuleError{Rule: "r", Field: "messageExpression", Message: "gives int, but must give string"}},
		"a message that does not compile":  {good(func(s *rules.Set) { s.Rules[0].MessageExpression = "argz" }), rules.RuleError{Rule: "r", Field: "messageExpression", Line: 1, Column: 1}},
		"rules that cost too much at once": {good(manyLoops), rules.RuleError{Field: "rules", Message: "together"}},
	} {
		t.Run(name, func(t *testing.T) {
			c, errs := rules.Compile(tc.set)
			if len(errs) == 0 {
				t.Fatal("compiles")
			}
			if !contains(errs, tc.want) {
				t.Errorf("errors are %+v, want %+v", errs, tc.want)
			}
			for _, e := range errs {
				if e.Line < 0 || e.Column < 0 || (e.Line == 0) != (e.Column == 0) {
					t.Errorf("no place that a status can hold: line %d, column %d", e.Line, e.Column)
				}
			}
			in := call(`{}`)
			if c.Broken() == "" || !c.Governs(in.Tool, in.Call.Method) && len(tc.set.Methods) == 0 && tc.set.Tools == nil {
				t.Errorf("does not deny what it governs: %q", c.Broken())
			}
		})
	}
}

// doubling binds a value to twice the one before, many times.
func doubling(value string) string {
	e := "z25 == z25"
	for i := 25; i > 0; i-- {
		e = fmt.Sprintf("cel.bind(z%d, z%d + z%d, %s)", i, i-1, i-1, e)
	}
	return "cel.bind(z0, " + value + ", " + e + ")"
}

func manyLoops(s *rules.Set) {
	s.Rules = nil
	for i := range rules.MaxRules {
		s.Rules = append(s.Rules, rule("r"+strings.Repeat("i", i), rules.Reject, `args.a.all(x, x.matches("[a-z]+[0-9]+[a-z]+[0-9]+[a-z]+[0-9]+[a-z]+[0-9]+"))`, nil))
	}
}

func contains(errs []rules.RuleError, want rules.RuleError) bool {
	for _, e := range errs {
		if e.Rule == want.Rule && e.Field == want.Field && (want.Line == 0 || e.Line == want.Line) &&
			(want.Column == 0 || e.Column == want.Column) && strings.Contains(e.Message, want.Message) {
			return true
		}
	}
	return false
}

// TestASetThatAToolNamesMayHaveRulesForOtherMethods: it is one object for the server that it selects, too, and must not be broken in the
// document of one and whole in that of the other.
func TestASetThatAToolNamesMayHaveRulesForOtherMethods(t *testing.T) {
	named := set("s", rules.TypePolicy, 0, rule("r", rules.Reject, on, nil))
	named.Reach, named.ToolScoped, named.Methods = rules.ReachTools, []string{"delete_repo"}, []string{"tools/call", "resources/read"}
	c, errs := rules.Compile(named)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	if !c.Governs(rules.ToolInfo{Name: "delete_repo"}, "tools/call") || c.Governs(rules.ToolInfo{}, "resources/read") {
		t.Error("it governs something else than the calls of the tool")
	}
}

// TestCompileAccepts: loops that people do write stay under the limit.
func TestCompileAccepts(t *testing.T) {
	for _, expression := range []string{
		`args.paths.all(p, p.startsWith("/home/"))`,
		`args.paths.all(p, p.matches("^/home/[a-z]+/.*$"))`,
		`args.edits.exists(e, e.newText.contains("rm -rf"))`,
		`args.a.exists(x, x in ["a", "b", "c"])`,
		`args.path.split("/").exists(s, s == "..")`,
		`size(args.sql) < 1000 && args.sql.lowerAscii().matches("^\\s*select\\b")`,
		`caller.groups.exists(g, g.startsWith("admin-")) || sets.intersects(caller.groups, ["ops"])`,
		`args.items.map(i, i.price).exists(p, p > 100)`,
	} {
		t.Run(expression, func(t *testing.T) {
			if _, errs := rules.Compile(oneRule(expression)); len(errs) > 0 {
				t.Error(errs)
			}
		})
	}
}

// TestLargeValues: a rule that is cheap on values as large as assumed fails on those for which it is not, and works on
// large values as long as they are not what it loops over.
func TestLargeValues(t *testing.T) {
	many := func(n int, item string) string { return strings.Repeat(item+",", n) + item }
	text := func(n int) string { return `"` + strings.Repeat("a", n) + `"` }
	for name, tc := range map[string]struct {
		when, args string
		wantError  string
	}{
		"a long list and a cheap loop":              {when: `args.l.exists(x, x == 2)`, args: `{"l":[` + many(50_000, "1") + `]}`},
		"a huge list and a loop in a loop":          {when: `args.l.exists(x, ["a","b","c","d","e","f","g","h"].exists(y, x == y))`, args: `{"l":[` + many(200_000, "1") + `]}`, wantError: "too large"},
		"a long text":                               {when: `args.t.contains("needle")`, args: `{"t":` + text(1_000_000) + `}`},
		"a huge text and a pattern":                 {when: `args.t.matches("^[b-z]+[0-9]+[b-z]+[0-9]+$")`, args: `{"t":` + text(2_000_000) + `}`, wantError: "too large"},
		"a loop beside a long text":                 {when: `args.l.exists(x, x.matches("^[b-z]+[0-9]+$"))`, args: `{"t":` + text(1_000_000) + `,"l":["a","a"]}`},
		"a few searches in a long text":             {when: `["b","c","d"].exists(x, args.t.contains(x))`, args: `{"t":` + text(1_000_000) + `}`},
		"parts of a text that is split":             {when: `args.t.split("/").exists(x, x.contains("b"))`, args: `{"t":` + text(2000) + `}`},
		"a pattern over a long list of short words": {when: `args.l.exists(x, x.find("[0-9]+") == "7")`, args: `{"l":[` + many(4000, text(5)) + `]}`},
		"long claims of the client":                 {when: `client.claimed.exists(k, k.matches("^[b-z]+[0-9]+$"))`, args: `{}`, wantError: "too large"},
		"and a rule that does not read them":        {when: `args.?x.orValue("") == "y"`, args: `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			in := call(tc.args)
			in.Client.Claimed = map[string]any{strings.Repeat("a", 5000): strings.Repeat("a", 2_000_000)}
			d := rules.Decide(compile(t, oneRule(tc.when)), in)
			if tc.wantError == "" && d.Action != rules.ActionNone || tc.wantError != "" && d.Action != rules.Reject || !strings.Contains(d.Error, tc.wantError) {
				t.Errorf("%s %q", d.Action, d.Error)
			}
		})
	}
}

func TestMessages(t *testing.T) {
	for name, tc := range map[string]struct {
		rule rules.Rule
		want string
	}{
		"fields are filled in": {rules.Rule{When: on, Message: "{tool.name} on {server.name}: {args.path} by {caller.groups.1} ({caller.claims.sub}, {client.claimed.name})"},
			"write_file on files: /a\"b by ops (ann, inspector)"},
		"what is not there is said to be so": {rules.Rule{When: on, Message: "{args.none.deep} {args.list.9} {caller.claims.x}"}, "(none) (none) (none)"},
		"values are JSON where they are not strings": {rules.Rule{When: on, Message: "{args.n} {args.list} {tool.destructive} {args.list.0} {tool.hints.readOnly} {args.null}"},
			`9007199254740993 ["x",1.5] true x false (none)`},
		"line breaks in values do not break the text": {rules.Rule{When: on, Message: "got {args.lines}."}, "got a b."},
		"long values are shortened":                   {rules.Rule{When: on, Message: "{args.long}"}, strings.Repeat("a", 200) + "…"},
		"other braces are text":                       {rules.Rule{When: on, Message: `use {"a": 1} or {} or {1}`}, `use {"a": 1} or {} or {1}`},
		"an expression gives the message":             {rules.Rule{When: on, Message: "m", MessageExpression: `"no " + args.path`}, `no /a"b`},
		"an expression that fails leaves the message": {rules.Rule{When: on, Message: "m {tool.name}", MessageExpression: `"no " + args.gone`}, "m write_file"},
		"an expression that gives no string does too": {rules.Rule{When: on, Message: "m", MessageExpression: `args.n`}, "m"},
		"without a message the rule is named":         {rules.Rule{When: on}, "rule r of rule set s applies"},
		"an error is told beside the message":         {rules.Rule{When: `args.gone == 1`, Message: "m"}, "m (could not be evaluated: no such key: gone)"},
	} {
		t.Run(name, func(t *testing.T) {
			tc.rule.Name, tc.rule.Action = "r", rules.Reject
			in := call(`{"path":"/a\"b","n":9007199254740993,"list":["x",1.5],"lines":"a\nb","null":null,"long":"` + strings.Repeat("a", 500) + `"}`)
			d := rules.Decide(compile(t, celSet("s", tc.rule)), in)
			if diff := cmp.Diff(tc.want, d.Message); diff != "" || d.Action != rules.Reject {
				t.Errorf("%s (-want +got):\n%s", d.Action, diff)
			}
		})
	}
}

func TestSchemaMessages(t *testing.T) {
	d := rules.Decide(compile(t, rules.Set{Name: "s", Type: rules.TypeValidation, Format: rules.FormatJSONSchema, Rules: []rules.Rule{
		{Name: "r", Action: rules.Reject, Message: "give a ticket", Schema: []byte(`{"properties":{"ticket":{"type":"string"}},"required":["ticket"]}`)},
	}}), call(`{}`))
	want := `give a ticket: (the whole value): misses the required member "ticket"; expected "ticket": string [required]`
	if d.Message != want || len(d.Violations) != 1 || d.Violations[0].Keyword != "required" {
		t.Errorf("%+v", d)
	}
}

func TestGoverns(t *testing.T) {
	tool := rules.ToolInfo{Name: "delete_repo", Destructive: true}
	names := func(n ...string) *rules.ToolSelector { return &rules.ToolSelector{Names: n} }
	for name, tc := range map[string]struct {
		set    rules.Set
		method string
		want   bool
	}{
		"every tool, without a selector":                    {want: true},
		"no other method, without a list":                   {method: "resources/read"},
		"the methods that it names":                         {set: rules.Set{Methods: []string{"resources/read"}}, method: "resources/read", want: true},
		"tools/call only if named":                          {set: rules.Set{Methods: []string{"resources/read"}}},
		"a tool by name":                                    {set: rules.Set{Tools: names("a", "delete_repo")}, want: true},
		"no other tool":                                     {set: rules.Set{Tools: names("delete_rep", "Delete_repo")}},
		"a tool by glob":                                    {set: rules.Set{Tools: names("delete_*")}, want: true},
		"a glob in the middle":                              {set: rules.Set{Tools: names("d*_r?po")}, want: true},
		"a glob that does not fit":                          {set: rules.Set{Tools: names("*_file", "delete_?")}},
		"a glob for all":                                    {set: rules.Set{Tools: names("*")}, want: true},
		"destructive tools only":                            {set: rules.Set{Tools: &rules.ToolSelector{Destructive: rules.DestructiveTrue}}, want: true},
		"tools that are not destructive only":               {set: rules.Set{Tools: &rules.ToolSelector{Destructive: rules.DestructiveFalse}}},
		"both must agree":                                   {set: rules.Set{Tools: &rules.ToolSelector{Names: []string{"x"}, Destructive: rules.DestructiveTrue}}},
		"a tool that names the set":                         {set: rules.Set{Tools: names("x"), ToolScoped: []string{"delete_repo"}}, want: true},
		"only tools that name it, if only tools do":         {set: rules.Set{Reach: rules.ReachTools, ToolScoped: []string{"x"}}},
		"a tool that names it, if only tools do":            {set: rules.Set{Reach: rules.ReachTools, ToolScoped: []string{"delete_repo"}}, want: true},
		"a type that is not built governs, for it denies":   {set: rules.Set{Type: rules.TypeRouting}, want: true},
		"a broken set governs as it would otherwise":        {set: rules.Set{Broken: "gone", Tools: names("x")}},
		"a broken set governs what it selects":              {set: rules.Set{Broken: "gone", Tools: names("delete_*")}, want: true},
		"a broken set without a selector governs all":       {set: rules.Set{Broken: "gone"}, want: true},
		"an unknown type governs, for it denies":            {set: rules.Set{Type: "advice"}, want: true},
		"an empty list of names governs, for it denies":     {set: rules.Set{Tools: &rules.ToolSelector{Names: []string{}}}, want: true},
		"an empty name governs, for it denies":              {set: rules.Set{Tools: names("")}, want: true},
		"no name of a method governs, for it denies":        {set: rules.Set{Methods: []string{"resources/read "}}, want: true},
		"nor does it leave out its method":                  {set: rules.Set{Methods: []string{" resources/read"}}, method: "resources/read", want: true},
		"whatever a client asks for, where no set is there": {set: rules.Set{Broken: "gone", Methods: rules.AnyMethod()}, method: "acme/reindex", want: true},
		"and calls of tools":                                {set: rules.Set{Broken: "gone", Methods: rules.AnyMethod()}, want: true},
		"an unknown destructive governs, for it denies":     {set: rules.Set{Tools: &rules.ToolSelector{Destructive: "Maybe"}}, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.set.Type == "" {
				tc.set.Type = rules.TypePolicy
			}
			tc.set.Name, tc.set.Format = "s", rules.FormatCEL
			c, _ := rules.Compile(tc.set)
			method := tc.method
			if method == "" {
				method = "tools/call"
			}
			if got := c.Governs(tool, method); got != tc.want {
				t.Errorf("governs: %t, want %t", got, tc.want)
			}
		})
	}
}

// TestErrorsKeepTheirOrder: the first error goes into the registry document, so it must not change from one run to the next.
func TestErrorsKeepTheirOrder(t *testing.T) {
	set := rules.Set{Name: "s", Type: rules.TypePolicy, Format: rules.FormatJSONSchema, Rules: []rules.Rule{
		{Name: "r", Action: rules.Reject, When: "true", Require: "true"}}}
	_, want := rules.Compile(set)
	if len(want) != 3 || want[0].Field != "when" || want[1].Field != "require" {
		t.Fatalf("errors %v, want when, require, and that there are two", want)
	}
	for range 20 {
		if _, got := rules.Compile(set); !slices.Equal(got, want) {
			t.Fatalf("errors %v, before that %v", got, want)
		}
	}
}
