// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package loosening

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/cel/environment"
	"sigs.k8s.io/yaml"
)

// oldest is the oldest Kubernetes that is supported: policies may use only what its CEL knows.
var oldest = version.MajorMinor(1, 33)

// program is one variable of a policy.
type program struct {
	name string
	cel.Program
}

// compile makes the variables of a policy ready, as an API server does.
func compile(t *testing.T, g Guard) []program {
	t.Helper()
	policy, _, err := Policy(g)
	if err != nil {
		t.Fatal(err)
	}
	set, err := environment.MustBaseEnvSet(oldest).Extend(environment.VersionedOptions{
		IntroducedVersion: oldest,
		EnvOptions: []cel.EnvOption{
			cel.Variable("object", cel.DynType), cel.Variable("oldObject", cel.DynType), cel.Variable("variables", cel.DynType),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	env, err := set.Env(environment.NewExpressions)
	if err != nil {
		t.Fatal(err)
	}
	var out []program
	for _, v := range policy.Spec.Variables {
		ast, issues := env.Compile(*v.Expression)
		if issues.Err() != nil {
			t.Fatalf("variable %s: %v", *v.Name, issues.Err())
		}
		p, err := env.Program(ast)
		if err != nil {
			t.Fatalf("variable %s: %v", *v.Name, err)
		}
		out = append(out, program{*v.Name, p})
	}
	return out
}

// loosened evaluates the variables of a policy one after another, and gives what the last one lists.
func loosened(t *testing.T, policy []program, before, after string) []string {
	t.Helper()
	variables := map[string]any{}
	for _, p := range policy {
		value, _, err := p.Eval(map[string]any{"object": decode(t, after), "oldObject": decode(t, before), "variables": variables})
		if err != nil {
			t.Fatalf("variable %s: %v", p.name, err)
		}
		variables[p.name] = value
	}
	names, err := variables["loosened"].(ref.Val).ConvertToNative(reflect.TypeFor[[]string]())
	if err != nil {
		t.Fatal(err)
	}
	return names.([]string)
}

// decode reads YAML with whole numbers as the API server does; no text is no object.
func decode(t *testing.T, text string) any {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestPolicies evaluates whole policies on what is written; test/admission walks every field and value on an API server.
func TestPolicies(t *testing.T) {
	const (
		servers = iota
		tools
	)
	policies := [][]program{servers: compile(t, Guards[0]), tools: compile(t, Guards[1])}
	for name, tc := range map[string]struct {
		kind int
		// before and after are objects in YAML; nothing before: the object is new.
		before, after string
		want          []string
	}{
		"a new server of defaults loosens nothing": {
			after: `{metadata: {name: s}, spec: {container: {image: a}}}`,
		},
		"a new server that is Trusted": {
			after: `{metadata: {name: s}, spec: {container: {image: a}, trust: {state: Trusted}}}`,
			want:  []string{"spec.clientFeatures.elicitationUrl", "spec.clientFeatures.samplingTools", "spec.trust.state"},
		},
		"another image of a server that is Untrusted": {
			before: `{metadata: {name: s}, spec: {container: {image: a}}}`,
			after:  `{metadata: {name: s}, spec: {container: {image: b}}}`,
		},
		"another image and other labels of a server that is Trusted": {
			before: `{metadata: {name: s}, spec: {container: {image: a}, trust: {state: Trusted}}}`,
			after:  `{metadata: {name: s, labels: {a: b}}, spec: {container: {image: b}, trust: {state: Trusted}}}`,
			want:   []string{"metadata.labels", "spec.container.image"},
		},
		"another image together with trust taken away": {
			before: `{metadata: {name: s}, spec: {container: {image: a}, trust: {state: Trusted}}}`,
			after:  `{metadata: {name: s}, spec: {container: {image: b}}}`,
		},
		"a default written down in a server that is Trusted": {
			before: `{metadata: {name: s}, spec: {container: {image: a}, trust: {state: Trusted}}}`,
			after:  `{metadata: {name: s}, spec: {container: {image: a}, trust: {state: Trusted}, limits: {maxConcurrent: 16}, transport: {type: stdio}}}`,
		},
		"an expiry that is taken away": {
			before: `{metadata: {name: s}, spec: {container: {image: a}, trust: {state: Trusted, expiresAt: "2030-01-01T00:00:00Z"}}}`,
			after:  `{metadata: {name: s}, spec: {container: {image: a}, trust: {state: Trusted}}}`,
			want:   []string{"spec.clientFeatures.elicitationUrl", "spec.clientFeatures.samplingTools", "spec.trust.expiresAt"},
		},
		"an expiry that is the same moment in another zone": {
			before: `{metadata: {name: s}, spec: {container: {image: a}, trust: {state: Trusted, expiresAt: "2030-01-01T00:00:00Z"}}}`,
			after:  `{metadata: {name: s}, spec: {container: {image: a}, trust: {state: Trusted, expiresAt: "2030-01-01T01:00:00+01:00"}}}`,
		},
		"an earlier expiry": {
			before: `{metadata: {name: s}, spec: {container: {image: a}, trust: {state: Trusted, expiresAt: "2030-01-01T00:00:00Z"}}}`,
			after:  `{metadata: {name: s}, spec: {container: {image: a}, trust: {state: Trusted, expiresAt: "2029-01-01T00:00:00Z"}}}`,
		},
		"a limit of 0, which is none": {
			before: `{metadata: {name: s}, spec: {container: {image: a}, limits: {requestsPerMinute: 1000}}}`,
			after:  `{metadata: {name: s}, spec: {container: {image: a}, limits: {requestsPerMinute: 0}}}`,
			want:   []string{"spec.limits.requestsPerMinute"},
		},
		"a RuleSet less, another one more": {
			before: `{metadata: {name: s}, spec: {container: {image: a}, ruleSets: [x, y]}}`,
			after:  `{metadata: {name: s}, spec: {container: {image: a}, ruleSets: [y, z]}}`,
			want:   []string{"spec.ruleSets"},
		},
		"other annotations of a Service within the cluster": {
			before: `{metadata: {name: s}, spec: {container: {image: a}}}`,
			after:  `{metadata: {name: s}, spec: {container: {image: a}, service: {annotations: {a: b}}}}`,
		},
		"other annotations of a LoadBalancer": {
			before: `{metadata: {name: s}, spec: {container: {image: a}, service: {type: LoadBalancer}}}`,
			after:  `{metadata: {name: s}, spec: {container: {image: a}, service: {type: LoadBalancer, annotations: {a: b}}}}`,
			want:   []string{"spec.service.annotations"},
		},
		"an endpoint of telemetry less": {
			before: `{metadata: {name: s}, spec: {container: {image: a}, telemetry: {otlpEndpoint: "http://a"}}}`,
			after:  `{metadata: {name: s}, spec: {container: {image: a}}}`,
		},
		"an endpoint of telemetry": {
			before: `{metadata: {name: s}, spec: {container: {image: a}}}`,
			after:  `{metadata: {name: s}, spec: {container: {image: a}, telemetry: {otlpEndpoint: "http://a"}}}`,
			want:   []string{"spec.telemetry.otlpEndpoint"},
		},
		"a tool as discovery makes it": {
			kind:  tools,
			after: `{metadata: {name: s.t, managedFields: [{manager: toolgate, fieldsV1: {"f:spec": {}}}]}, spec: {serverRef: {name: s}, toolName: t}}`,
		},
		"a hint that is said to be harmless, where the server says nothing": {
			kind:   tools,
			before: `{metadata: {name: s.t}, spec: {serverRef: {name: s}, toolName: t}}`,
			after:  `{metadata: {name: s.t}, spec: {serverRef: {name: s}, toolName: t, hints: {destructive: "False"}}}`,
			want:   []string{"spec.hints.destructive"},
		},
		"a hint that is said to be harmful, and then nothing": {
			kind:   tools,
			before: `{metadata: {name: s.t}, spec: {serverRef: {name: s}, toolName: t, hints: {destructive: "True"}}}`,
			after:  `{metadata: {name: s.t}, spec: {serverRef: {name: s}, toolName: t}}`,
			want:   []string{"spec.hints.destructive"},
		},
		"a contract that is made, and a pin that is set": {
			kind:   tools,
			before: `{metadata: {name: s.t}, spec: {serverRef: {name: s}, toolName: t}}`,
			after:  `{metadata: {name: s.t}, spec: {serverRef: {name: s}, toolName: t, contract: {inputSchema: {type: object}}, pin: {digest: d}}}`,
			want:   []string{"spec.pin.digest"},
		},
		"a version, where a rule could ask for one": {
			kind:   tools,
			before: `{metadata: {name: s.t}, spec: {serverRef: {name: s}, toolName: t, contract: {inputSchema: {type: object}}}}`,
			after:  `{metadata: {name: s.t}, spec: {serverRef: {name: s}, toolName: t, contract: {inputSchema: {type: object}, version: 2.0.0}}}`,
			want:   []string{"spec.contract.version"},
		},
		"a new tool with a version, where a rule could ask for one": {
			kind:  tools,
			after: `{metadata: {name: s.t}, spec: {serverRef: {name: s}, toolName: t, contract: {version: 2.0.0}}}`,
			want:  []string{"spec.contract.version"},
		},
		"a contract that is taken away": {
			kind:   tools,
			before: `{metadata: {name: s.t}, spec: {serverRef: {name: s}, toolName: t, contract: {version: 1.0.0}}}`,
			after:  `{metadata: {name: s.t}, spec: {serverRef: {name: s}, toolName: t}}`,
			want:   []string{"spec.contract.version"},
		},
		"a limit that is taken away": {
			kind:   tools,
			before: `{metadata: {name: s.t}, spec: {serverRef: {name: s}, toolName: t, limits: {maxConcurrent: 1}}}`,
			after:  `{metadata: {name: s.t}, spec: {serverRef: {name: s}, toolName: t}}`,
			want:   []string{"spec.limits.maxConcurrent"},
		},
		"a person's word about a name that is withheld without one": {
			kind:   tools,
			before: `{metadata: {name: s.t, managedFields: [{manager: toolgate, fieldsV1: {"f:spec": {}}}]}, spec: {serverRef: {name: s}, toolName: "a b"}}`,
			after:  `{metadata: {name: s.t, managedFields: [{manager: kubectl, fieldsV1: {"f:spec": {}}}]}, spec: {serverRef: {name: s}, toolName: "a b", state: Enabled}}`,
			want:   []string{"spec.toolName"},
		},
		"a person's word about a name that is withheld because another is confused with it": {
			kind:   tools,
			before: `{metadata: {name: s.t, managedFields: [{manager: toolgate, fieldsV1: {"f:spec": {}}}]}, spec: {serverRef: {name: s}, toolName: t}, status: {conditions: [{type: Registered, reason: DuplicateName}]}}`,
			after:  `{metadata: {name: s.t, managedFields: [{manager: kubectl, fieldsV1: {"f:spec": {}}}]}, spec: {serverRef: {name: s}, toolName: t, hints: {destructive: "True"}}}`,
			want:   []string{"spec.toolName"},
		},
		"a person's word that keeps such a name back": {
			kind:   tools,
			before: `{metadata: {name: s.t, managedFields: [{manager: toolgate, fieldsV1: {"f:spec": {}}}]}, spec: {serverRef: {name: s}, toolName: "a b"}}`,
			after:  `{metadata: {name: s.t, managedFields: [{manager: kubectl, fieldsV1: {"f:spec": {}}}]}, spec: {serverRef: {name: s}, toolName: "a b", state: Disabled}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, loosened(t, policies[tc.kind], tc.before, tc.after), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("loosened (-want +got):\n%s", diff)
			}
		})
	}
}

// TestWordsAboutNames: the first field that a person sets needs the verb where it lets a name through that is withheld without
// one, or where nothing says that it does not.
func TestWordsAboutNames(t *testing.T) {
	policy := compile(t, Guards[1])
	toldApart := []string{"Registered", "NoInputSchema", "InvalidSchema", "ContractBroken", "DefinitionChanged", "NotPinned"}
	withheld := []string{"DuplicateName", "NameNotDeclared"}
	// Not judged by a catalogue that has it: another name beside it may be known to nobody.
	unknown := []string{"", "Disabled", "Gone", "NotListed", "NotDiscovered", "OfALaterRelease"}
	long := strings.Repeat("a", 129)
	for name, needs := range map[string][]string{
		"read_file": withheld[:1],
		"a.b-c":     withheld[:1],
		long[:128]:  withheld[:1],
		"readFile":  slices.Concat(withheld[:1], unknown, []string{"new"}),
		"READ":      slices.Concat(withheld[:1], unknown, []string{"new"}),
		"a b":       slices.Concat(toldApart, withheld, unknown, []string{"new"}),
		"reаd_file": slices.Concat(toldApart, withheld, unknown, []string{"new"}), // the third letter is Cyrillic
		long:        slices.Concat(toldApart, withheld, unknown, []string{"new"}),
	} {
		for _, reason := range slices.Concat(toldApart, withheld[:1], unknown, []string{"new"}) {
			const object = `{metadata: {name: s.t, managedFields: [{manager: %s, fieldsV1: {"f:spec": {}}}]}, spec: {serverRef: {name: s}, toolName: "%s"%s}, status: %s}`
			status := fmt.Sprintf("{conditions: [{type: Callable, reason: Registered}, {type: Registered, reason: %s}]}", reason)
			switch reason {
			case "":
				status = "{}"
			case "new":
				status = ""
			}
			before, after := "", fmt.Sprintf(object, "kubectl", name, `, hints: {destructive: "True"}`, "{}")
			if status != "" {
				before = fmt.Sprintf(object, "toolgate", name, "", status)
			}
			var want []string
			if slices.Contains(needs, reason) {
				want = []string{"spec.toolName"}
			}
			if diff := cmp.Diff(want, loosened(t, policy, before, after), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("a word about %s, which is %q (-want +got):\n%s", name, reason, diff)
			}
		}
	}
}

func TestWhatIsNoClass(t *testing.T) {
	if _, err := expression("sideways", "description", defaults{}); err == nil {
		t.Error("a class that is none was taken")
	}
	if _, _, err := Policy(Guard{Kind: "RuleSet"}); err == nil {
		t.Error("a kind without a verb has a policy")
	}
}

func TestOrder(t *testing.T) {
	if diff := cmp.Diff([]string{"True", Absent, "False"}, Looser("True", Absent, "False").Order()); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	if got := More.Order(); got != nil {
		t.Errorf("the class %q has the order %v", More, got)
	}
}
