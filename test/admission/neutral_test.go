// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/loosening"
	"toolgate.dev/toolgate/internal/render"
	"toolgate.dev/toolgate/internal/render/workload"
)

// Why a field may show in what runs a server and be Neutral all the same.
const (
	placed = "says where pods run and what they are given before others, not what runs in them"
	sized  = "says how much a container may use, not what runs in it"
)

// harmless are the Neutral fields that show in what runs a server: where, as parts of the path there, and why that needs no
// verb. Think twice before a field comes here: what reaches further, or runs other code in the server's container, belongs to
// another class.
var harmless = map[string]struct {
	why   string
	where []string
}{
	"container.imagePullPolicy": {"what a tag stands for is the registry's word with each pod that starts, whatever the policy; a digest stays itself",
		[]string{"[server].imagePullPolicy"}},
	"container.resources":                     {sized, []string{"[server].resources"}},
	"dispatcher.resources":                    {sized, []string{"[dispatcher].resources", "[install].resources"}},
	"dispatcher.logLevel":                     {"is about the dispatcher alone, whose log has no values of calls", []string{"[dispatcher].command"}},
	"network.metricsFrom":                     {"lets scrapers in to the dispatcher's port of metrics, where nothing else can listen, and nobody out", []string{".policy.spec.ingress"}},
	"service.port":                            {"leads to the dispatcher, whichever it is", []string{".service.spec.ports"}},
	"pod.affinity":                            {placed, []string{".pod.spec.affinity"}},
	"pod.nodeSelector":                        {placed, []string{".pod.spec.nodeSelector"}},
	"pod.tolerations":                         {placed, []string{".pod.spec.tolerations"}},
	"pod.topologySpreadConstraints":           {placed, []string{".pod.spec.topologySpreadConstraints"}},
	"pod.priorityClassName":                   {placed, []string{".pod.spec.priorityClassName"}},
	"pod.imagePullSecrets":                    {"fetches the image that the spec names, or none", []string{".pod.spec.imagePullSecrets"}},
	"pod.terminationGracePeriodSeconds":       {"says how long a pod may take to end", []string{".pod.spec.terminationGracePeriodSeconds", "[dispatcher].command"}},
	"pod.securityContext.fsGroupChangePolicy": {"says when a volume's files are given to fsGroup, which is not Neutral", []string{".fsGroupChangePolicy"}},
}

// probing are values for texts that are free: what opens a way out, if a renderer takes a text for an address.
var probing = []any{"http://x.kube-system.svc:8080", "http://10.0.0.5:5432", "10.0.0.0/8", "kube-system"}

// surroundings are specs in which a change of any field can show.
var surroundings = []string{
	`{container: {image: "a:1", command: [b]}}`,
	`{container: {image: "a:1"}, transport: {type: streamable-http}}`,
	`{remote: {url: "https://a.example/mcp"}}`,
}

// TestNeutralFieldsReachAndRunNothing holds Neutral fields to what their class says: no change of one opens a way in or out of
// the pods, gives them other rights, or makes other code run in the server's container. That a field is Neutral says a person;
// here it is looked at what becomes of it.
func TestNeutralFieldsReachAndRunNothing(t *testing.T) {
	shown, told := map[string]bool{}, map[string]bool{}
	for _, key := range slices.Sorted(maps.Keys(loosening.Table)) {
		path, mine := strings.CutPrefix(key, loosening.KindMCPServer+".")
		if !mine || loosening.Table[key] != loosening.Neutral {
			continue
		}
		for _, base := range surrounding(path) {
			was := renderedOf(t, base)
			for _, value := range append(valuesOf(t, loosening.KindMCPServer, path, loosening.Neutral), probingOf(t, path)...) {
				spec := (&unstructured.Unstructured{Object: base}).DeepCopy().Object
				set(spec, path, value)
				is := renderedOf(t, spec)
				for _, at := range changed(was, is) {
					shown[path] = true
					if inside := func(part string) bool { return strings.Contains(at, part) }; slices.ContainsFunc(harmless[path].where, inside) || told[path] {
						continue
					}
					told[path] = true
					t.Errorf("spec.%s is Neutral, and %v in %v makes %q of what was %q at %s: give it another class in internal/loosening/table.go",
						path, value, base, is[at], was[at], at)
				}
			}
		}
	}
	for path := range harmless {
		if !shown[path] {
			t.Errorf("spec.%s is among the exceptions, and is not Neutral or shows nowhere", path)
		}
	}
}

// surrounding gives the specs that a field is set in: those that can have it, with each kind of egress.
func surrounding(path string) []map[string]any {
	var out []map[string]any
	for _, text := range surroundings {
		if strings.HasPrefix(path, "container.") && get(decodeSpec(text), "container") == nil {
			continue
		}
		for _, egress := range []v1alpha1.Egress{v1alpha1.EgressDNSOnly, v1alpha1.EgressList, v1alpha1.EgressInternet, v1alpha1.EgressOpen} {
			base := decodeSpec(text)
			set(base, "network.egress", string(egress))
			out = append(out, base)
		}
	}
	return out
}

func probingOf(t *testing.T, path string) []any {
	schema, _ := fieldOf(t, loosening.KindMCPServer, path)
	switch {
	case schema.Type == "string" && len(schema.Enum) == 0:
		return probing
	case schema.Type == "array" && schema.Items.Schema.Type == "string":
		return []any{probing}
	}
	return nil
}

// renderedOf is all that decides what runs of a server, and what that reaches and may do: each leaf by its path.
func renderedOf(t *testing.T, spec map[string]any) map[string]string {
	t.Helper()
	s := &v1alpha1.MCPServer{}
	s.Namespace, s.Name, s.UID = "ns", "files", "1"
	read(t, spec, &s.Spec)
	platform := workload.Platform{Image: "toolgate:test", ManagerNamespace: "toolgate-system"}
	policy, err := workload.NetworkPolicy(s, platform)
	if err != nil {
		t.Fatalf("%v: %v", spec, err)
	}
	deployment, err := workload.Deployment(s, platform, workload.Live{StateKey: "key"})
	if err != nil {
		t.Fatalf("%v: %v", spec, err)
	}
	revision, err := render.Revision(s)
	if err != nil {
		t.Fatalf("%v: %v", spec, err)
	}
	var all any
	read(t, map[string]any{
		"policy": policy, "pod": deployment.Spec.Template, "revision": revision, "service": workload.Service(s), "peers": workload.Peers(s),
		"account": workload.ServiceAccountName(s), "ours": workload.ServiceAccount(s),
	}, &all)
	out := map[string]string{}
	leaves("", all, out)
	return out
}

// leaves writes down each value that holds no others. What has a name is found by it, and all else in a list by its place.
func leaves(path string, v any, out map[string]string) {
	switch v := v.(type) {
	case map[string]any:
		for name, child := range v {
			leaves(path+"."+name, child, out)
		}
		if len(v) > 0 {
			return
		}
	case []any:
		for i, child := range v {
			place := fmt.Sprint(i)
			if named, ok := child.(map[string]any); ok && named["name"] != nil {
				place = fmt.Sprint(named["name"])
			}
			leaves(path+"["+place+"]", child, out)
		}
		if len(v) > 0 {
			return
		}
	}
	out[path] = fmt.Sprint(v)
}

// changed are the paths of leaves that are only in one of the two, or are something else there.
func changed(was, is map[string]string) []string {
	var out []string
	for at, value := range is {
		if before, ok := was[at]; !ok || before != value {
			out = append(out, at)
		}
	}
	for at := range was {
		if _, ok := is[at]; !ok {
			out = append(out, at)
		}
	}
	slices.Sort(out)
	return out
}

// read turns one form of an object into another through JSON.
func read(t *testing.T, from, to any) {
	t.Helper()
	data, err := json.Marshal(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, to); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
}
