// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// testCase is one file of testdata. The object is created, or it is created as From and then updated to be Object.
type testCase struct {
	// Refused is what the refusal must say; empty means that the object is accepted.
	Refused string `json:"refused,omitempty"`
	// Alone is whether that is all that the refusal says.
	Alone  bool           `json:"alone,omitempty"`
	From   map[string]any `json:"from,omitempty"`
	Object map[string]any `json:"object"`
}

func TestCases(t *testing.T) {
	s := need(t)
	files, err := filepath.Glob("testdata/*/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases in testdata: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(file, "testdata/"), ".yaml")
		t.Run(strings.ReplaceAll(name, "-", " "), func(t *testing.T) {
			t.Parallel()
			tc := load(t, file)
			err := s.apply(t, tc)
			switch {
			case tc.Refused == "" && err != nil:
				t.Errorf("want accepted, got: %v", err)
			case tc.Refused != "" && err == nil:
				t.Errorf("want refused with %q, got accepted", tc.Refused)
			case tc.Refused != "" && !strings.Contains(err.Error(), tc.Refused):
				t.Errorf("want refused with %q, got: %v", tc.Refused, err)
			case tc.Refused != "" && !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err):
				t.Errorf("want a refusal of the object, got: %v", err)
			case tc.Alone && len(causes(err)) != 1:
				t.Errorf("want one cause alone, got: %v", err)
			}
		})
	}
	t.Logf("%d cases", len(files))
}

func causes(err error) []metav1.StatusCause {
	if status := apierrors.APIStatus(nil); errors.As(err, &status) && status.Status().Details != nil {
		return status.Status().Details.Causes
	}
	return nil
}

func load(t *testing.T, file string) testCase {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var tc testCase
	if err := yaml.UnmarshalStrict(data, &tc); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	if tc.Object == nil {
		t.Fatalf("%s has no object", file)
	}
	return tc
}

// apply writes the case's object without storing it, in a namespace of the case's own where it has to be stored first.
func (s *apiServer) apply(t *testing.T, tc testCase) error {
	t.Helper()
	ctx := context.Background()
	object := &unstructured.Unstructured{Object: tc.Object}
	if tc.From == nil {
		object.SetNamespace("default")
		return s.client.Create(ctx, object, client.DryRunAll)
	}
	namespace := s.namespace(t)
	from := &unstructured.Unstructured{Object: tc.From}
	from.SetNamespace(namespace)
	if err := s.client.Create(ctx, from); err != nil {
		t.Fatalf("creating the object to update: %v", err)
	}
	object.SetNamespace(namespace)
	object.SetResourceVersion(from.GetResourceVersion())
	return s.client.Update(ctx, object, client.DryRunAll)
}

// namespace makes a namespace. It stays until the API server ends with the tests.
func (s *apiServer) namespace(t *testing.T) string {
	t.Helper()
	ns := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"generateName": "case-"},
	}}
	if err := s.client.Create(context.Background(), ns); err != nil {
		t.Fatalf("making a namespace: %v", err)
	}
	return ns.GetName()
}

// TestEveryRuleHasACase holds each message of a rule in the CRDs to be what some case is refused with, and what each rule is
// about to be in some case that is accepted.
func TestEveryRuleHasACase(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	refusals, accepted := map[string][]string{}, map[string]bool{}
	for _, file := range files {
		kind := filepath.Base(filepath.Dir(file))
		tc := load(t, file)
		if tc.Refused != "" {
			refusals[kind] = append(refusals[kind], tc.Refused)
			continue
		}
		holds(kind, tc.Object, accepted)
	}
	for _, crd := range readCRDs(t) {
		visit("", schemaOf(crd), func(path string, s *apiextensionsv1.JSONSchemaProps) {
			for _, rule := range s.XValidations {
				proven := slices.ContainsFunc(refusals[crd.Spec.Names.Singular], func(refused string) bool {
					return strings.Contains(rule.Message, refused) || rule.MessageExpression != "" && strings.HasPrefix(refused, strings.Split(rule.MessageExpression, "'")[1])
				})
				if !proven {
					t.Errorf("%s%s: no case is refused with %q", crd.Spec.Names.Kind, path, rule.Message)
				}
				if !accepted[crd.Spec.Names.Singular+path] {
					t.Errorf("%s%s: no case that is accepted has what this rule is about: %s", crd.Spec.Names.Kind, path, rule.Rule)
				}
			}
		})
	}
}
