// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"encoding/json"
	"regexp"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// known are values of fields whose schema does not say what the API server takes, by the end of their path. The first that
// fits is taken. A rule of admission that refuses all of them shows as a field without a valid change.
var known = []struct {
	suffix string
	values []any
}{
	{".container.image", []any{"example.com/files:2", "example.com/files:3"}},
	{".replicas", []any{2, 3, 0}},
	{"matchExpressions[].operator", []any{"Exists", "DoesNotExist"}},
	{"matchFields[].operator", []any{"In", "NotIn"}},
	{"matchFields[].key", []any{"metadata.name"}},
	{"tolerations[].operator", []any{"Exists", "Equal"}},
	{"tolerations[].effect", []any{"NoExecute", "NoSchedule"}},
	{"tolerations[].tolerationSeconds", []any{30, 60}},
	{"topologyKey", []any{"kubernetes.io/hostname", "topology.kubernetes.io/zone"}},
	{"whenUnsatisfiable", []any{"DoNotSchedule", "ScheduleAnyway"}},
	{"nodeAffinityPolicy", []any{"Ignore", "Honor"}},
	{"nodeTaintsPolicy", []any{"Honor", "Ignore"}},
	{"maxSkew", []any{1, 2}},
	{"minDomains", []any{2, 3}},
	{".weight", []any{1, 50}},
	{".cidr", []any{"203.0.113.0/24", "198.51.100.0/24"}},
	{"labels{}", []any{"one", "two"}},
	{"annotations{}", []any{"one", "two"}},
	{"nodeSelector{}", []any{"linux"}},
	{"matchLabels{}", []any{"one", "two"}},
	{"resources.limits{}", []any{"1Gi", "2Gi"}},
	{"resources.requests{}", []any{"64Mi", "128Mi"}},
	{"sizeLimit", []any{"64Mi", "128Mi"}},
	{"ephemeral.size", []any{"64Mi", "128Mi"}},
	{"csi.driver", []any{"files.csi.example.com", "other.csi.example.com"}},
	{"storageClassName", []any{"files"}},
	{"seccompProfile", []any{"RuntimeDefault", "Localhost/profiles/files.json", "files.json"}},
	{"rollout.maxSurge", []any{1, "50%"}},
	{"rollout.maxUnavailable", []any{1, "50%"}},
	{"remote.url", []any{"https://mcp.example.com/mcp", "https://other.example.com/mcp"}},
	{"otlpEndpoint", []any{"http://otel.example.com:4318", "http://other.example.com:4318"}},
	{"headersFrom[].name", []any{"X-Key", "X-Other"}},
	{"env[].name", []any{"FILES_ROOT", "FILES_MODE"}},
	{"envFrom[].prefix", []any{"FILES_", "OTHER_"}},
	{"expiresAt", []any{"2036-01-01T00:00:00Z", "2037-01-01T00:00:00Z"}},
	{"mountPath", []any{"/data", "/other"}},
	{"subPath", []any{"one", "two"}},
	{"workingDir", []any{"/data", "/other"}},
	{"items[].path", []any{"one/two", "three"}},
	{".path", []any{"/mcp", "/other", "one/two"}},
	{".port", []any{8080, 8081}},
	{".tcpPort", []any{8080, 8081}},
	{".ports[]", []any{443, 8443}},
	{"service.hosts[]", []any{"mcp.example.com", "files.one.svc.example.com"}},
	{"passthrough[]", []any{"notifications/example", "example/method"}},
	{"methods[]", []any{"tools/call", "resources/read"}},
	{"redact[]", []any{"/password", "$.password", "password"}},
	{"pin.digest", []any{"v1:sha256:" + strings.Repeat("0a", 32), "v1:sha256:" + strings.Repeat("0b", 32)}},
	{"contract.version", []any{"1.2.3", "2.0.0"}},
	{"deprecatedIn", []any{"2.0.0", "3.0.0"}},
	{"rules[].when", []any{"'path' in args", "size(args) > 3", "size(args"}},
	{"rules[].require", []any{"'path' in args", "size(args) > 3"}},
	{"messageExpression", []any{"'no ' + call.name", "'not ' + tool.name"}},
	{"rules[].schema", []any{Object{"type": "object", "required": []any{"path"}}, Object{"type": "object", "maxProperties": 3}}},
	{"rules[].message", []any{"not now", "never"}},
	{"tools.names[]", []any{"write_file", "read_*"}},
	{"servers.names[]", []any{"files", "others"}},
	{"toolName", []any{"write_file"}},
	{"serverRef.name", []any{"files"}},
	{"contract.inputSchema", []any{Object{"type": "object"}, Object{"type": "object", "properties": Object{"path": Object{"type": "integer"}}}}},
	{"contract.outputSchema", []any{Object{"type": "object"}, Object{"type": "object", "required": []any{"root"}}}},
	{"callers.names[]", []any{"somebody", "system:serviceaccount:one:two"}},
	{"callers.groups[]", []any{"system:authenticated", "people"}},
	{"rules[].action", []any{"Reject", "Warn", "RequireConfirmation", "Allow"}},
	{".format", []any{"cel", "jsonSchema"}},
}

// words are what a string may be where nothing else is said.
var words = []any{"files", "other", "one-two", "example.com/one", "1.2.3", "64Mi", "/one", "https://example.com/one"}

func values(path string, s *apiextensionsv1.JSONSchemaProps) []any {
	if len(s.Enum) > 0 {
		var out []any
		for _, raw := range s.Enum {
			var value any
			if json.Unmarshal(raw.Raw, &value) == nil {
				out = append(out, value)
			}
		}
		return out
	}
	for _, k := range known {
		if strings.HasSuffix(path, k.suffix) {
			return k.values
		}
	}
	switch s.Type {
	case "integer":
		return integers(s)
	case "string":
		return strung(s)
	default:
		return []any{Object{}}
	}
}

// integers are near the least, where sizes do no harm.
func integers(s *apiextensionsv1.JSONSchemaProps) []any {
	low := int64(1)
	if s.Minimum != nil {
		low = int64(*s.Minimum)
	}
	return []any{low + 1, low + 2, low}
}

func strung(s *apiextensionsv1.JSONSchemaProps) []any {
	pattern, err := regexp.Compile(s.Pattern)
	if err != nil {
		return words
	}
	var out []any
	for _, word := range words {
		if pattern.MatchString(word.(string)) {
			out = append(out, word)
		}
	}
	if len(out) == 0 {
		return words
	}
	return out
}
