// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// maxCRDBytes bounds a CRD as compact JSON. Client-side apply keeps a copy in an annotation of 262,144 bytes at most, and
// later versions must fit as well.
const maxCRDBytes = 100_000

// explainWidth is how long a line of a text may be before kubectl explain breaks it in an unseemly place.
const explainWidth = 76

func readCRDs(t *testing.T) []*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	return readCRDsOf(t, crds)
}

func readCRDsOf(t *testing.T, folder string) []*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	files, err := filepath.Glob(folder + "/*.yaml")
	if err != nil || len(files) != 3 {
		t.Fatalf("want three CRDs in %s, got %d: %v", folder, len(files), err)
	}
	var out []*apiextensionsv1.CustomResourceDefinition
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(data, crd); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		out = append(out, crd)
	}
	return out
}

func schemaOf(crd *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.JSONSchemaProps {
	return crd.Spec.Versions[0].Schema.OpenAPIV3Schema
}

func TestCRDsAreSmall(t *testing.T) {
	for _, crd := range readCRDs(t) {
		data, err := json.Marshal(crd)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%-9s %6d bytes of compact JSON", crd.Spec.Names.Kind, len(data))
		if len(data) > maxCRDBytes {
			t.Errorf("%s has %d bytes, more than %d", crd.Spec.Names.Kind, len(data), maxCRDBytes)
		}
	}
}

// visit calls f for a schema and all below it, with the path as kubectl explain takes it.
func visit(path string, s *apiextensionsv1.JSONSchemaProps, f func(path string, s *apiextensionsv1.JSONSchemaProps)) {
	f(path, s)
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		child := s.Properties[name]
		visit(path+"."+name, &child, f)
	}
	if s.Items != nil && s.Items.Schema != nil {
		visit(path+"[]", s.Items.Schema, f)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		visit(path+"{}", s.AdditionalProperties.Schema, f)
	}
}

// foreign reports paths whose types are Kubernetes' own: their bounds are not ours to set.
func foreign(path string) bool {
	for _, part := range []string{".resources", ".tolerations[]", ".affinity.", ".topologySpreadConstraints[]", ".servers.selector", "Selector.", ".conditions[]"} {
		if strings.Contains(path, part) {
			return true
		}
	}
	return path == ".apiVersion" || path == ".kind" || path == ".metadata"
}

// shortened reports paths whose texts hack/shorten-crd.sh takes out.
func shortened(path string) bool {
	return strings.Contains(path, ".pod.affinity.") || strings.Contains(path, ".pod.topologySpreadConstraints[]") ||
		strings.Contains(path, ".namespaceSelector.") || strings.Contains(path, ".podSelector.")
}

func TestEveryFieldHasAText(t *testing.T) {
	fields := 0
	for _, crd := range readCRDs(t) {
		visit("", schemaOf(crd), func(path string, s *apiextensionsv1.JSONSchemaProps) {
			if strings.HasSuffix(path, "[]") || strings.HasSuffix(path, "{}") {
				return
			}
			fields++
			text := strings.TrimSpace(s.Description)
			if text == "" && path != ".metadata" && !shortened(path) {
				t.Errorf("%s%s has no description: kubectl explain would say nothing", crd.Spec.Names.Kind, path)
			}
			for line := range strings.Lines(text) {
				if len(strings.TrimRight(line, "\n")) > explainWidth && !foreign(path) {
					t.Errorf("%s%s: kubectl explain would break this line: %q", crd.Spec.Names.Kind, path, line)
				}
			}
			for _, word := range []string{"TODO", "FIXME", "+optional"} {
				if strings.Contains(text, word) {
					t.Errorf("%s%s: description holds %q", crd.Spec.Names.Kind, path, word)
				}
			}
		})
	}
	t.Logf("%d fields", fields)
}

func TestEveryValueIsBounded(t *testing.T) {
	for _, crd := range readCRDs(t) {
		visit("", schemaOf(crd), func(path string, s *apiextensionsv1.JSONSchemaProps) {
			name := crd.Spec.Names.Kind + path
			switch {
			case foreign(path) || strings.HasSuffix(path, "{}"):
			case s.Type == "string" && s.MaxLength == nil && len(s.Enum) == 0 && s.Format == "":
				t.Errorf("%s has no maxLength", name)
			case s.Type == "array" && s.MaxItems == nil:
				t.Errorf("%s has no maxItems", name)
			case s.Type == "array" && s.XListType == nil:
				t.Errorf("%s has no x-kubernetes-list-type", name)
			case s.AdditionalProperties != nil && s.MaxProperties == nil:
				t.Errorf("%s has no maxProperties", name)
			case s.Type == "integer" && s.Minimum == nil:
				t.Errorf("%s has no minimum", name)
			case s.Type == "integer" && s.Maximum == nil && strings.HasPrefix(path, ".spec"):
				t.Errorf("%s has no maximum", name)
			case s.Type == "boolean":
				t.Errorf("%s is a boolean: switches are enums, which can grow", name)
			case s.Type == "number":
				t.Errorf("%s is a floating-point number", name)
			}
		})
	}
}

// TestDefaultsReachTheirFields holds every default of the API server to where it takes effect: all of its parents are there
// without being written.
func TestDefaultsReachTheirFields(t *testing.T) {
	for _, crd := range readCRDs(t) {
		present := map[string]bool{"": true, ".spec": true}
		visit("", schemaOf(crd), func(path string, s *apiextensionsv1.JSONSchemaProps) {
			if s.Default == nil {
				return
			}
			present[path] = true
			if parent := path[:strings.LastIndex(path, ".")]; !present[parent] {
				t.Errorf("%s%s has a default that an absent %s hides; compute it in Effective", crd.Spec.Names.Kind, path, parent)
			}
		})
	}
}

// TestEnumsSayEachValueOnce: generators that read a CRD stumble over a value that is there twice (vitorbari/mcp-operator 13).
func TestEnumsSayEachValueOnce(t *testing.T) {
	enums := 0
	for _, crd := range readCRDs(t) {
		visit("", schemaOf(crd), func(path string, s *apiextensionsv1.JSONSchemaProps) {
			seen := map[string]bool{}
			for _, value := range s.Enum {
				if seen[string(value.Raw)] {
					t.Errorf("%s%s has %s twice", crd.Spec.Names.Kind, path, value.Raw)
				}
				seen[string(value.Raw)] = true
				enums++
			}
		})
	}
	if enums == 0 {
		t.Error("there are no enums: was anything read?")
	}
}
