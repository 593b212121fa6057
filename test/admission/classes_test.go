// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"toolgate.dev/toolgate/internal/loosening"
)

func TestEveryFieldIsClassed(t *testing.T) {
	seen := map[string]bool{}
	for _, crd := range readCRDs(t) {
		spec := schemaOf(crd).Properties["spec"]
		visit(crd.Spec.Names.Kind, &spec, func(path string, s *apiextensionsv1.JSONSchemaProps) {
			if strings.ContainsAny(path, "[{") || below(path) || len(s.Properties) > 0 && !whole(path) {
				return
			}
			seen[path] = true
			got, ok := loosening.Table[path]
			if !ok {
				t.Errorf("%s is in no class: say in internal/loosening/table.go which change of it loosens, and run make generate", path)
			}
			if values := got.Order(); values != nil && !sameValues(values, s.Enum) {
				t.Errorf("%s: the class %q does not have the values of the enum %s", path, got, s.Enum)
			}
			kind, field, _ := strings.Cut(path, ".")
			if values := got.Order(); kind != "RuleSet" && values != nil && !slices.Contains(values, loosening.Absent) && rank(values, effective(t, kind, nil, field)) < 0 {
				t.Errorf("%s: an absent value has no place in %q: give it a default in Effective, or say where %s stands", path, got, loosening.Absent)
			}
		})
	}
	for path := range loosening.Table {
		if !seen[path] {
			t.Errorf("%s is classed and is no field", path)
		}
	}
	t.Logf("%d fields classed", len(loosening.Table))
}

// whole reports objects of Kubernetes' own types, which are one leaf here.
func whole(path string) bool {
	return strings.HasSuffix(path, ".resources") || strings.HasSuffix(path, ".pod.affinity") || strings.HasSuffix(path, "Probe") || strings.HasSuffix(path, ".servers.selector")
}

func below(path string) bool {
	return strings.Contains(path, ".resources.") || strings.Contains(path, ".pod.affinity.") || strings.Contains(path, "Probe.") || strings.Contains(path, ".servers.selector.")
}

func sameValues(values []string, enum []apiextensionsv1.JSON) bool {
	values = slices.DeleteFunc(values, func(v string) bool { return v == loosening.Absent })
	var have []string
	for _, v := range enum {
		have = append(have, strings.Trim(string(v.Raw), `"`))
	}
	slices.Sort(have)
	return slices.Equal(slices.Sorted(slices.Values(values)), have)
}

// TestPoliciesAreCurrent holds config/admission to the table.
func TestPoliciesAreCurrent(t *testing.T) {
	for _, g := range loosening.Guards {
		want, err := loosening.Manifest(g)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(policies + "/" + g.Verb + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("config/admission/%s.yaml is not what the table says: run make generate (-want +got):\n%s", g.Verb, diff)
		}
	}
}
