// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"toolgate.dev/toolgate/api/v1alpha1"
)

// kubectl runs kubectl and fails the test where kubectl fails.
func (s *apiServer) kubectlOK(t *testing.T, args ...string) string {
	t.Helper()
	out, err := s.run(args...)
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// TestCRDsAreAppliedAgainEitherWay also holds that applying them loses nothing of what is stored.
func TestCRDsAreAppliedAgainEitherWay(t *testing.T) {
	s := need(t)
	namespace := s.namespace(t)
	stored := &unstructured.Unstructured{Object: load(t, "testdata/mcpserver/every-field-at-once.yaml").Object}
	stored.SetNamespace(namespace)
	if err := s.client.Create(context.Background(), stored); err != nil {
		t.Fatal(err)
	}
	s.kubectlOK(t, "apply", "--server-side", "--force-conflicts", "-f", crds)
	if out := s.kubectlOK(t, "apply", "-f", crds); strings.Count(out, "unchanged") != 3 {
		t.Errorf("want three CRDs unchanged by a second apply, got:\n%s", out)
	}
	again := &unstructured.Unstructured{}
	again.SetGroupVersionKind(stored.GroupVersionKind())
	if err := s.client.Get(context.Background(), client.ObjectKeyFromObject(stored), again); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(stored.Object, again.Object); diff != "" {
		t.Errorf("the object after its CRD was applied again (-before +after):\n%s", diff)
	}
}

// TestEveryExampleInTheDocsIsAccepted writes each YAML example of the docs that is an object of ours.
func TestEveryExampleInTheDocsIsAccepted(t *testing.T) {
	s := need(t)
	pages, err := filepath.Glob(root + "/docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := 0
	for _, page := range append(pages, root+"/README.md") {
		data, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, fence := range strings.Split(string(data), "```yaml\n")[1:] {
			text, _, _ := strings.Cut(fence, "\n```")
			for _, document := range strings.Split(text, "\n---\n") {
				object := &unstructured.Unstructured{}
				if err := yaml.UnmarshalStrict([]byte(document), &object.Object); err != nil {
					t.Errorf("%s: %v\n%s", page, err, document)
					continue
				}
				if object.GroupVersionKind().Group != v1alpha1.GroupVersion.Group {
					continue
				}
				examples++
				object.SetNamespace("default")
				if err := s.client.Create(context.Background(), object, client.DryRunAll); err != nil {
					t.Errorf("%s: %v\n%s", page, err, document)
				}
			}
		}
	}
	if examples < 3 {
		t.Errorf("found %d examples, want one a page at least", examples)
	}
}

func TestEverySampleIsAccepted(t *testing.T) {
	s := need(t)
	files, err := filepath.Glob(samples + "/*.yaml")
	if err != nil || len(files) < 7 {
		t.Fatalf("want samples in %s, got %d: %v", samples, len(files), err)
	}
	for name, args := range map[string][]string{
		"client-side": {"apply", "--validate=strict"},
		"server-side": {"apply", "--validate=strict", "--server-side"},
	} {
		t.Run(name, func(t *testing.T) {
			namespace := s.namespace(t)
			for _, file := range files {
				if filepath.Base(file) == "kustomization.yaml" {
					continue
				}
				s.kubectlOK(t, append(args, "-n", namespace, "-f", file)...)
				data, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				for _, want := range []string{"# See:", "# Try next:"} {
					if !strings.Contains(string(data), want) {
						t.Errorf("%s does not say %q", file, want)
					}
				}
			}
			again := s.kubectlOK(t, append(args, "-n", namespace, "-k", samples)...)
			for line := range strings.Lines(again) {
				// The API server turns a Secret's stringData into data, so that kubectl never sees it applied.
				if name == "client-side" && !strings.Contains(line, "unchanged") && !strings.HasPrefix(line, "secret/") {
					t.Errorf("a second apply changed something: %s", line)
				}
			}
		})
	}
}

// TestExplainKnowsEveryField asks kubectl for the fields of each kind, and for one text.
func TestExplainKnowsEveryField(t *testing.T) {
	s := need(t)
	for _, crd := range readCRDs(t) {
		out := s.kubectlOK(t, "explain", crd.Spec.Names.Plural, "--recursive")
		fields := map[string]bool{}
		for line := range strings.Lines(out) {
			if name, _, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
				fields[name] = true
			}
		}
		visit("", schemaOf(crd), func(path string, _ *apiextensionsv1.JSONSchemaProps) {
			name := path[strings.LastIndex(path, ".")+1:]
			if name != "" && !strings.HasSuffix(name, "]") && !strings.HasSuffix(name, "}") && !fields[name] {
				t.Errorf("kubectl explain %s does not show %s", crd.Spec.Names.Plural, path)
			}
		})
	}
	out := s.kubectlOK(t, "explain", "mcps.spec.transport.isolation")
	for _, want := range []string{"Default: Session", "all share one, which is cheaper", "ENUM"} {
		if !strings.Contains(out, want) {
			t.Errorf("kubectl explain does not say %q:\n%s", want, out)
		}
	}
}

// TestColumns shows what kubectl get prints of objects whose status is written.
func TestColumns(t *testing.T) {
	s := need(t)
	namespace := s.namespace(t)
	const condition = `{type: %, status: "True", reason: Ready, message: all is well, lastTransitionTime: "2026-01-01T00:00:00Z", observedGeneration: 1}`
	ready := func(kind string) string { return strings.ReplaceAll(condition, "%", kind) }
	for name, tc := range map[string]struct {
		object, status string
		resource       string
		want           []string
	}{
		"servers": {
			object: `{kind: MCPServer, metadata: {name: files}, spec: {domain: build, container: {image: a, command: [b]}}}`,
			status: `{conditions: [` + ready("Ready") + `], health: {state: Healthy}, trust: {state: Expired}, toolsCount: 14, transport: stdio, url: "http://files/mcp",
				protocolVersion: "2025-06-18", serverInfo: {version: 1.2.3}, readyReplicas: 1, dispatcherVersion: v0.1.0}`,
			resource: "mcps",
			want: []string{"NAME READY HEALTH TOOLS TRUST TRANSPORT URL AGE DOMAIN PROTOCOL VERSION REPLICAS DISPATCHER MESSAGE",
				"files True Healthy 14 Expired stdio http://files/mcp build 2025-06-18 1.2.3 1 v0.1.0 all is well"},
		},
		"tools": {
			object: `{kind: MCPTool, metadata: {name: files.read-file}, spec: {serverRef: {name: files}, toolName: read_file, contract: {version: 1.0.0}}}`,
			status: `{conditions: [` + ready("Callable") + `], destructive: {verdict: "False", because: Annotation}, observed: {title: Read, digest: "v1:sha256:0"}, change: {kind: minor, text: more}}`,

			resource: "mcpt",
			want: []string{"NAME SERVER TOOL CALLABLE DESTRUCTIVE REASON VERSION AGE DIGEST CHANGE TITLE MESSAGE",
				"files.read-file files read_file True False Ready 1.0.0 v1:sha256:0 minor Read all is well"},
		},
		"rule sets": {
			object:   `{kind: RuleSet, metadata: {name: no-writes}, spec: {type: safety, rules: [{name: a, action: Reject, when: "true"}]}}`,
			status:   `{conditions: [` + ready("Ready") + `, ` + ready("Enforced") + `], rulesCount: 1, matchedServers: 2, matchedTools: 7}`,
			resource: "mcprs",
			want:     []string{"NAME READY TYPE RULES SERVERS TOOLS ENFORCED AGE FORMAT PRIORITY MESSAGE", "no-writes True safety 1 2 7 True cel 0 all is well"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			object := s.create(t, namespace, tc.object)
			var status map[string]any
			if err := yaml.UnmarshalStrict([]byte(tc.status), &status); err != nil {
				t.Fatal(err)
			}
			object.Object["status"] = status
			if err := s.client.Status().Update(context.Background(), object); err != nil {
				t.Fatalf("writing the status: %v", err)
			}
			lines := strings.Split(strings.TrimSpace(s.kubectlOK(t, "-n", namespace, "get", tc.resource, "-o", "wide")), "\n")
			var got []string
			for _, line := range lines {
				got = append(got, strings.Join(strings.Fields(line), " "))
			}
			// The age differs from run to run: it is cut out of the line.
			before, _, _ := strings.Cut(tc.want[0], "AGE")
			age := len(strings.Fields(before))
			fields := strings.Fields(got[1])
			got[1] = strings.Join(append(fields[:age:age], fields[age+1:]...), " ")
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("kubectl get %s -o wide (-want +got):\n%s", tc.resource, diff)
			}
		})
	}
}

func (s *apiServer) create(t *testing.T, namespace, object string) *unstructured.Unstructured {
	t.Helper()
	u := parse(t, namespace, object)
	if err := s.client.Create(context.Background(), u); err != nil {
		t.Fatalf("creating %s: %v", u.GetName(), err)
	}
	return u
}

// TestWhatIsStored holds the API server to write the few defaults that columns and autoscalers read, and nothing else: what a
// person did not say stays unsaid, and Effective gives it its meaning.
func TestWhatIsStored(t *testing.T) {
	s := need(t)
	namespace := s.namespace(t)
	for name, tc := range map[string]struct{ object, want string }{
		"a server": {
			`{kind: MCPServer, metadata: {name: files}, spec: {container: {image: a, command: [b]}, gating: {}}}`,
			`{container: {image: a, command: [b]}, gating: {}, replicas: 1, trust: {state: Untrusted}}`,
		},
		"a tool": {
			`{kind: MCPTool, metadata: {name: files.echo}, spec: {serverRef: {name: files}, toolName: echo}}`,
			`{serverRef: {name: files}, toolName: echo}`,
		},
		"a rule set": {
			`{kind: RuleSet, metadata: {name: a}, spec: {type: safety, rules: [{name: a, action: Warn, when: "true"}]}}`,
			`{type: safety, format: cel, priority: 0, rules: [{name: a, action: Warn, when: "true"}]}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var want map[string]any
			if err := yaml.Unmarshal([]byte(tc.want), &want); err != nil {
				t.Fatal(err)
			}
			got, err := yaml.Marshal(s.create(t, namespace, tc.object).Object["spec"])
			if err != nil {
				t.Fatal(err)
			}
			wantYAML, err := yaml.Marshal(want)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(wantYAML), string(got)); diff != "" {
				t.Errorf("stored (-want +got):\n%s", diff)
			}
		})
	}
}

func TestScale(t *testing.T) {
	s := need(t)
	namespace := s.namespace(t)
	u := s.create(t, namespace, `{kind: MCPServer, metadata: {name: files}, spec: {container: {image: a, command: [b]}}}`)
	s.kubectlOK(t, "-n", namespace, "scale", "mcpserver/files", "--replicas=3")
	got := &unstructured.Unstructured{}
	got.SetGroupVersionKind(schema.GroupVersionKind{Group: v1alpha1.GroupVersion.Group, Version: v1alpha1.GroupVersion.Version, Kind: "MCPServer"})
	if err := s.client.Get(context.Background(), client.ObjectKeyFromObject(u), got); err != nil {
		t.Fatal(err)
	}
	if n, _, _ := unstructured.NestedInt64(got.Object, "spec", "replicas"); n != 3 {
		t.Errorf("want 3 replicas after kubectl scale, got %d", n)
	}
}
