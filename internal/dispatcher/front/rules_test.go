// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"strings"
	"testing"

	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/rules"
)

// refuses has one rule of a method, in CEL or as a schema.
func refuses(method, when, schema string) func(*registry.Document) {
	set := rules.Set{Name: "set", Type: rules.TypePolicy, Format: rules.FormatCEL, Methods: []string{method},
		Rules: []rules.Rule{{Name: "r", Action: rules.Reject, When: when, Message: "no"}}}
	if schema != "" {
		set.Format, set.Rules[0].When, set.Rules[0].Schema = rules.FormatJSONSchema, "", []byte(schema)
	}
	return func(d *registry.Document) {
		d.Policy.Passthrough = []string{"acme/reindex"}
		d.RuleSets = []rules.Set{set}
	}
}

// TestRulesSeeWhatIsSent of every method that carries arguments, in a session, without one, and in the modern revision.
func TestRulesSeeWhatIsSent(t *testing.T) {
	const schema = `{"type":"object","properties":{"path":{"pattern":"^/data/"}}}`
	for name, tc := range map[string]struct {
		method, when, schema string
		header               string // Mcp-Name
		refused, passes      string // members of params
	}{
		"arguments of a prompt": {method: "prompts/get", when: `args.?path.orValue("") == "/etc"`, header: "p",
			refused: `"name":"p","arguments":{"path":"/etc"}`, passes: `"name":"p","arguments":{"path":"/data/x"}`},
		"as they were sent": {method: "prompts/get", when: `rawArgs.?path.orValue("") == "/etc"`, header: "p",
			refused: `"name":"p","arguments":{"path":"/etc"}`, passes: `"name":"p"`},
		"by a schema": {method: "prompts/get", schema: schema, header: "p",
			refused: `"name":"p","arguments":{"path":"/etc"}`, passes: `"name":"p","arguments":null`},
		"arguments of a prompt that are no object": {method: "prompts/get", when: `false`, header: "p",
			refused: `"name":"p","arguments":["/etc"]`, passes: `"name":"p"`},
		"the prompt that is completed": {method: "completion/complete", when: `call.name == "p"`,
			refused: `"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"path","value":"/e"}`, passes: `"ref":{"type":"ref/prompt","name":"q"},"argument":{"name":"path","value":"/e"}`},
		"the resource that is completed": {method: "completion/complete", when: `call.uri.startsWith("file:///etc")`,
			refused: `"ref":{"type":"ref/resource","uri":"file:///etc/{x}"},"argument":{"name":"x","value":"/e"}`, passes: `"ref":{"type":"ref/resource","uri":"file:///data/{x}"},"argument":{"name":"x","value":"/e"}`},
		"the value that is completed": {method: "completion/complete", when: `args.argument.value.startsWith("/e")`,
			refused: `"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"path","value":"/e"}`, passes: `"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"path","value":"/d"}`},
		"what is passed through": {method: "acme/reindex", when: `args.?index.orValue("") == "all"`, refused: `"index":"all"`, passes: `"index":"one"`},
		"what is passed through, by a schema": {method: "acme/reindex", schema: schema,
			refused: `"path":"/etc"`, passes: `"path":"/data/x"`},
		"a list of tools": {method: "tools/list", when: `server.name == "my-files"`, refused: `"a":1`},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, refuses(tc.method, tc.when, tc.schema))
			id := f.session()
			for params, refused := range map[string]bool{tc.refused: true, tc.passes: false} {
				if params == "" {
					continue
				}
				body := `{"jsonrpc":"2.0","id":1,"method":"` + tc.method + `","params":{` + params + `}}`
				_, modern := f.modernCall(tc.method, tc.header, params+",")
				for way, answer := range map[string]string{
					"in a session": f.post(body, headerSession, id).Body.String(), "without one": f.post(body).Body.String(), "modern": modern,
				} {
					if got := strings.Contains(answer, `"error"`); got != refused {
						t.Errorf("%s, %s: refused %t, want %t: %s", way, params, got, refused, answer)
					}
				}
			}
		})
	}
}

// TestANotificationThatIsPassedThroughIsDecidedOn as a request of that name is, and told of in the record where it does not pass.
func TestANotificationThatIsPassedThroughIsDecidedOn(t *testing.T) {
	const sent = `{"jsonrpc":"2.0","method":"acme/reindex","params":{"index":"all"}}`
	for name, tc := range map[string]struct {
		change func(*registry.Document)
		passes bool
	}{
		"no rule has anything against it": {refuses("acme/reindex", `args.index == "one"`, ""), true},
		"a rule refuses it":               {refuses("acme/reindex", `args.index == "all"`, ""), false},
		"a set is broken":                 {refuses("acme/reindex", `args.`, ""), false},
		"a set is missing": {func(d *registry.Document) {
			refuses("acme/other", "true", "")(d)
			d.RuleSets[0].Broken, d.RuleSets[0].Methods = "RuleSet set does not exist", rules.AnyMethod()
		}, false},
		"a person would have to confirm it": {func(d *registry.Document) {
			refuses("acme/reindex", "true", "")(d)
			d.RuleSets[0].Rules[0].Action = rules.RequireConfirmation
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, func(d *registry.Document) { d.Policy.Passthrough = []string{"acme/reindex"} })
			id := f.session()
			f.apply(tc.change)
			f.audit.Reset()
			f.post(sent, headerSession, id)
			if got := f.server.Received() != ""; got != tc.passes {
				t.Errorf("passed on %t, want %t", got, tc.passes)
			}
			if recorded := strings.Contains(f.audit.String(), `"method":"acme/reindex"`); recorded == tc.passes {
				t.Errorf("the record says %s", f.audit)
			}
		})
	}
}
