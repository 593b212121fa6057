// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/loosening"
)

// Specs that a field is put into: the first prefix that fits.
var bases = []struct{ prefix, spec string }{
	{"MCPServer.remote.", `{remote: {url: "https://a.example/mcp", caBundleFrom: {name: a, key: b}}}`},
	{"MCPServer.transport.isolation", `{container: {image: "a:1", command: [b]}}`},
	{"MCPServer.container.command", `{container: {image: "a:1"}, transport: {type: sse}}`},
	{"MCPServer.transport.", `{container: {image: "a:1", command: [b]}, transport: {type: sse}}`},
	{"MCPServer.domainModel.", `{container: {image: "a:1", command: [b]}, domainModel: {configMapKeyRef: {name: a, key: b}, format: json}}`},
	{"MCPServer.", `{container: {image: "a:1", command: [b]}, pod: {volumes: [{name: data, emptyDir: {}}]}}`},
	{"MCPTool.", `{toolName: read_file, limits: {requestsPerMinute: 10, maxConcurrent: 10}, contract: {deprecatedIn: 2.0.0, inputSchema: {type: object}}}`},
}

// fieldValues are values of the fields whose schema alone does not give any: two or more that admission accepts, as YAML. A new
// field needs a row here.
var fieldValues = map[string][]string{
	"MCPServer.description":              {"a", "b"},
	"MCPServer.domain":                   {"billing", "build"},
	"MCPServer.capabilities":             {"[a]", "[a, b]"},
	"MCPServer.container.image":          {`"a:1"`, `"a:2"`},
	"MCPServer.container.command":        {"[b]", "[b, c]"},
	"MCPServer.container.args":           {"[c]", "[d]"},
	"MCPServer.container.workingDir":     {"/a", "/b"},
	"MCPServer.container.env":            {"[{name: A, value: b}]", "[{name: A, value: c}]"},
	"MCPServer.container.envFrom":        {"[{secretRef: a}]", "[{configMapRef: a}]"},
	"MCPServer.container.resources":      {"{limits: {memory: 64Mi}}", "{limits: {memory: 65Mi}}"},
	"MCPServer.container.volumeMounts":   {"[{name: data, mountPath: /a}]", "[{name: data, mountPath: /b}]"},
	"MCPServer.container.livenessProbe":  {"{tcpPort: 8080}", "{exec: [a]}"},
	"MCPServer.container.readinessProbe": {"{tcpPort: 8080}", "{exec: [a]}"},
	"MCPServer.container.startupProbe":   {"{tcpPort: 8080}", "{exec: [a]}"},
	"MCPServer.rollout.maxUnavailable":   {"1", `"25%"`},
	"MCPServer.rollout.maxSurge":         {"1", `"25%"`},
	"MCPServer.pod.affinity": {
		"{nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists}]}]}}}",
		"{nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: b, operator: Exists}]}]}}}",
	},
	"MCPServer.pod.topologySpreadConstraints": {
		"[{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]", "[{maxSkew: 2, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]",
	},
	"MCPServer.pod.runtimeClassName":                   {"a", "b"},
	"MCPServer.pod.priorityClassName":                  {"a", "b"},
	"MCPServer.pod.securityContext.supplementalGroups": {"[1]", "[1, 2]"},
	"MCPServer.pod.securityContext.seccompProfile":     {"a.json", "b.json"},
	"MCPServer.remote.url":                             {`"https://a.example/mcp"`, `"https://b.example/mcp"`},
	"MCPServer.remote.headersFrom":                     {"[{name: X-Key, secretKeyRef: {name: a, key: b}}]", "[{name: X-Key, secretKeyRef: {name: c, key: b}}]"},
	"MCPServer.remote.caBundleFrom.name":               {"a", "b"},
	"MCPServer.remote.caBundleFrom.key":                {"a", "b"},
	"MCPServer.transport.type":                         {"sse", "websocket"},
	"MCPServer.transport.path":                         {"/a", "/b"},
	"MCPServer.transport.port":                         {"9000", "9001"},
	"MCPServer.pod.labels":                             {"{team: a}", "{team: b}"},
	"MCPServer.pod.annotations":                        {"{example.com/a: a}", "{example.com/a: b}"},
	"MCPServer.pod.serviceAccountName":                 {"a", "b"},
	"MCPServer.pod.imagePullSecrets":                   {"[a]", "[b]"},
	"MCPServer.domainModel.configMapKeyRef.name":       {"a", "b"},
	"MCPServer.domainModel.configMapKeyRef.key":        {"a", "b"},
	"MCPServer.network.ingressFrom":                    {"[{podSelector: {}}]", "[{cidr: 192.0.2.0/24}]"},
	"MCPServer.network.metricsFrom":                    {"[{podSelector: {}}]", "[{cidr: 192.0.2.0/24}]"},
	"MCPServer.network.egressTo":                       {"[{podSelector: {}}]", "[{podSelector: {}}, {cidr: 192.0.2.0/24, ports: [443]}]"},
	"MCPServer.pod.volumes":                            {"[{name: data, emptyDir: {}}]", "[{name: data, secret: a}]"},
	"MCPServer.pod.nodeSelector":                       {"{a: b}", "{a: c}"},
	"MCPServer.pod.tolerations":                        {"[{key: a, operator: Exists}]", "[{key: b, operator: Exists}]"},
	"MCPServer.dispatcher.resources":                   {"{limits: {memory: 64Mi}}", "{limits: {memory: 65Mi}}"},
	"MCPServer.service.annotations":                    {"{example.com/a: a}", "{example.com/a: b}"},
	"MCPServer.service.hosts":                          {"[a.example.com]", "[b.example.com]", "[b.example.com, a.example.com]"},
	"MCPServer.trust.expiresAt":                        {`"2027-01-31T17:00:00Z"`, `"2027-01-31T19:00:00+01:00"`, `"2027-01-31T17:00:01Z"`},
	"MCPServer.trust.reason":                           {"a", "b"},
	"MCPServer.passthrough":                            {"[acme/a]", "[acme/b]", "[acme/a, acme/b]"},
	"MCPServer.audit.redact":                           {"[a]", "[b]"},
	"MCPServer.telemetry.otlpEndpoint":                 {`"http://collector.observability.svc:4318"`, `"http://10.0.0.5:4318"`, `"https://a.example"`},
	"MCPServer.ruleSets":                               {"[a]", "[b]", "[b, a]"},
	"MCPTool.serverRef.name":                           {"fixed"},
	"MCPTool.toolName":                                 {"read_file"},
	"MCPTool.pin.digest":                               {"v1:sha256:" + strings.Repeat("a", 64), "v1:sha256:" + strings.Repeat("b", 64)},
	"MCPTool.contract.version":                         {"1.0.0", "1.0.1"},
	"MCPTool.contract.deprecatedIn":                    {"2.0.0", "2.0.1"},
	"MCPTool.contract.inputSchema":                     {"{type: object}", "{type: object, required: [a]}"},
	"MCPTool.contract.outputSchema":                    {"{type: object}", "{type: object, required: [a]}"},
	"MCPTool.ruleSets":                                 {"[a]", "[b]", "[b, a]"},
}

// basesOf gives the specs that a field is walked in: where its class looks at another field, one for each answer.
func basesOf(kind, path string, class loosening.Class) []map[string]any {
	i := slices.IndexFunc(bases, func(b struct{ prefix, spec string }) bool { return strings.HasPrefix(kind+"."+path, b.prefix) })
	base := decodeSpec(bases[i].spec)
	out := []map[string]any{base}
	with := func(path string, value any) {
		other := decodeSpec(bases[i].spec)
		set(other, path, value)
		out = append(out, other)
	}
	_, conditional := map[string]bool{"clientFeatures.samplingTools": true, "clientFeatures.elicitationUrl": true}[path]
	switch {
	case class == loosening.Revision, class == loosening.WhileTrusted, conditional:
		with("trust.state", "Trusted")
	case class == loosening.WhileExposed:
		with("service.type", "LoadBalancer")
	}
	return out
}

// valuesOf gives the values that a field is walked through. nil stands for none at all.
func valuesOf(t *testing.T, kind, path string, class loosening.Class) []any {
	t.Helper()
	schema, required := fieldOf(t, kind, path)
	var values []any
	if !required {
		values = append(values, nil)
	}
	for _, text := range fieldValues[kind+"."+path] {
		values = append(values, decodeSpec("{v: " + text + "}")["v"])
	}
	if len(values) > 1 || required && len(values) > 0 {
		return values
	}
	for _, e := range schema.Enum {
		values = append(values, strings.Trim(string(e.Raw), `"`))
	}
	if schema.Type == "integer" {
		low := int64(*schema.Minimum)
		values = append(values, low, low+1)
		if d, ok := effective(t, kind, nil, path).(float64); ok && int64(d) > low+1 {
			values = append(values, int64(d)-1, int64(d), int64(d)+1)
		}
	}
	if len(values) < 3 {
		t.Fatalf("%s.%s (%s): its schema gives no values to walk it through: add two to fieldValues", kind, path, class)
	}
	return values
}

var (
	readOnce sync.Once
	known    []*apiextensionsv1.CustomResourceDefinition
)

// knownCRDs reads the CRDs once for all fields.
func knownCRDs(t *testing.T) []*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	readOnce.Do(func() { known = readCRDs(t) })
	return known
}

func fieldOf(t *testing.T, kind, path string) (*apiextensionsv1.JSONSchemaProps, bool) {
	t.Helper()
	for _, crd := range knownCRDs(t) {
		if crd.Spec.Names.Kind != kind {
			continue
		}
		s := schemaOf(crd).Properties["spec"]
		var required bool
		for _, name := range strings.Split(path, ".") {
			required = slices.Contains(s.Required, name)
			s = s.Properties[name]
		}
		return &s, required
	}
	t.Fatalf("no CRD of kind %s", kind)
	return nil, false
}

// effective is the value of a field that is in force in a spec, by the function that the manager goes by. No spec at all is one
// in which nothing is said.
func effective(t *testing.T, kind string, spec map[string]any, path string) any {
	t.Helper()
	data, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	var in any
	switch kind {
	case loosening.KindMCPServer:
		s := &v1alpha1.MCPServerSpec{Container: &v1alpha1.Container{}}
		if err := yaml.Unmarshal(data, s); err != nil {
			t.Fatal(err)
		}
		in = s.Effective()
	case loosening.KindMCPTool:
		s := &v1alpha1.MCPToolSpec{}
		if err := yaml.Unmarshal(data, s); err != nil {
			t.Fatal(err)
		}
		in = s.Effective()
	}
	if data, err = json.Marshal(in); err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return get(out, path)
}

// loosens says by the class of a field whether a change of it loosens: in Go, to be compared with what the policies say in CEL.
func loosens(t *testing.T, kind, path string, class loosening.Class, before, after map[string]any) bool {
	t.Helper()
	was, is := effective(t, kind, before, path), effective(t, kind, after, path)
	rawWas, rawIs := get(before, path), get(after, path)
	if values := class.Order(); values != nil {
		return rank(values, is) > rank(values, was)
	}
	differs := !cmp.Equal(rawWas, rawIs)
	switch class {
	case loosening.Neutral, loosening.Declaration:
		return false
	case loosening.Revision, loosening.WhileTrusted:
		return differs && get(before, "trust.state") == "Trusted" && get(after, "trust.state") == "Trusted"
	case loosening.WhileExposed:
		return differs && get(after, "service.type") == "LoadBalancer"
	case loosening.Either:
		return differs
	case loosening.Promise:
		return differs && rawWas != nil
	case loosening.Naming:
		return differs && rawIs != nil
	case loosening.More:
		return is.(float64) > was.(float64)
	case loosening.MoreOr0:
		return lifted(is) > lifted(was)
	case loosening.MoreOrNone:
		return orNone(rawIs) > orNone(rawWas)
	case loosening.Later:
		return later(t, rawIs).After(later(t, rawWas))
	case loosening.Adding:
		return !subset(rawIs, rawWas)
	case loosening.Removing:
		return !subset(rawWas, rawIs)
	default:
		t.Fatalf("%s.%s: class %q is unknown here", kind, path, class)
		return false
	}
}

func rank(values []string, v any) int {
	s, ok := v.(string)
	if !ok || s == "" {
		s = loosening.Absent
	}
	return slices.Index(values, s)
}

// orNone reads a number that is not there as more than every other one.
func orNone(v any) float64 {
	if n, ok := v.(int64); ok {
		return float64(n)
	}
	return math.Inf(1)
}

func lifted(v any) float64 {
	if n := v.(float64); n > 0 {
		return n
	}
	return math.Inf(1)
}

func later(t *testing.T, v any) time.Time {
	t.Helper()
	if v == nil {
		return time.Unix(math.MaxInt32, 0)
	}
	at, err := time.Parse(time.RFC3339, v.(string))
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// subset says whether each entry of a list is in the other one.
func subset(list, of any) bool {
	entries, _ := list.([]any)
	others, _ := of.([]any)
	for _, e := range entries {
		if !slices.ContainsFunc(others, func(other any) bool { return cmp.Equal(other, e) }) {
			return false
		}
	}
	return true
}
