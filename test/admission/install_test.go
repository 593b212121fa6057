// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// maxApplied bounds an object of the installer: kubectl apply keeps a copy of it in an annotation of 262,144 bytes at most.
const maxApplied = 200_000

// installer makes the one file that `make build-installer` makes with the default image, as kubectl does.
func (s *apiServer) installer(t *testing.T) (file string, kinds map[string]int) {
	t.Helper()
	text := s.kubectlOK(t, "kustomize", root+"/config/default")
	file = filepath.Join(t.TempDir(), "install.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	kinds = map[string]int{}
	for _, document := range bytes.Split([]byte(text), []byte("\n---\n")) {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(document, &u.Object); err != nil {
			t.Fatal(err)
		}
		kinds[u.GetKind()]++
		if len(u.GetFinalizers()) > 0 {
			t.Errorf("%s %s has finalizers: nothing of ours may hold up an uninstall", u.GetKind(), u.GetName())
		}
		data, err := u.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		if len(data) > maxApplied {
			t.Errorf("%s %s has %d bytes, more than %d", u.GetKind(), u.GetName(), len(data), maxApplied)
		}
	}
	return file, kinds
}

// TestOnAServerOfItsOwn begins without anything of ours: older CRDs are replaced, and then all is installed and taken away.
func TestOnAServerOfItsOwn(t *testing.T) {
	need(t)
	s := another(t)
	t.Run("new CRDs over older ones", func(t *testing.T) { testNewCRDsOverOlderOnes(t, s) })
	t.Run("what older CRDs let be stored can be changed elsewhere", func(t *testing.T) { testStoredStays(t, s) })
	t.Run("install and uninstall in any order", func(t *testing.T) { testInstallAndUninstall(t, s) })
}

// testInstallAndUninstall applies the one file by plain kubectl apply, takes it away again in different orders with objects of
// every kind there, and installs it anew each time: nothing may be stuck or in the way.
func testInstallAndUninstall(t *testing.T, s *apiServer) {
	file, kinds := s.installer(t)
	if kinds["CustomResourceDefinition"] != 3 || kinds["ValidatingAdmissionPolicy"] != 6 || kinds["ValidatingAdmissionPolicyBinding"] != 6 || kinds["Deployment"] != 1 {
		t.Errorf("the installer holds %v", kinds)
	}
	for _, order := range []struct {
		name  string
		steps [][]string
	}{
		{"all at once", nil},
		{"CRDs first", [][]string{{"delete", "--timeout=60s", "-f", crds}}},
		{"manager first, objects last", [][]string{
			{"-n", "toolgate-system", "delete", "deployment", "toolgate-manager"},
			{"delete", "validatingadmissionpolicybinding", "-l", "app.kubernetes.io/name=toolgate"},
			{"-n", "default", "delete", "mcpservers,mcptools,rulesets", "--all", "--timeout=60s"},
		}},
	} {
		t.Run(order.name, func(t *testing.T) {
			s.applyInstaller(t, file, order.steps == nil)
			s.fill(t)
			for _, step := range order.steps {
				s.kubectlOK(t, step...)
			}
			s.kubectlOK(t, "delete", "--ignore-not-found", "--wait=false", "-f", file)
			s.gone(t)
		})
	}
}

// applyInstaller applies the file until it is served, and once more where wanted: nothing may change then.
func (s *apiServer) applyInstaller(t *testing.T, file string, twice bool) {
	t.Helper()
	s.kubectlOK(t, "apply", "-f", file)
	s.kubectlOK(t, "wait", "--for=condition=Established", "--timeout=60s", "-f", crds)
	if !twice {
		return
	}
	for line := range strings.Lines(s.kubectlOK(t, "apply", "-f", file)) {
		if !strings.Contains(line, "unchanged") {
			t.Errorf("a second apply changed something: %s", line)
		}
	}
}

// fill makes an object of each kind.
func (s *apiServer) fill(t *testing.T) {
	t.Helper()
	for _, object := range []string{
		`{kind: MCPServer, metadata: {name: files}, spec: {container: {image: a, command: [b]}, trust: {state: Trusted}}}`,
		`{kind: MCPTool, metadata: {name: files.echo}, spec: {serverRef: {name: files}, toolName: echo}}`,
		`{kind: RuleSet, metadata: {name: a}, spec: {type: safety, rules: [{name: a, action: Warn, when: "true"}]}}`,
	} {
		until(t, "an object to be accepted", func() bool {
			return client.IgnoreAlreadyExists(s.client.Create(context.Background(), parse(t, "default", object))) == nil
		})
	}
}

// gone waits until nothing of ours is left but the namespace.
func (s *apiServer) gone(t *testing.T) {
	t.Helper()
	ctx := context.Background()
	until(t, "the CRDs to go", func() bool {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinitionList"})
		return s.client.List(ctx, list) == nil && len(list.Items) == 0
	})
	for _, gvk := range []schema.GroupVersionKind{
		{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingAdmissionPolicyList"},
		{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingAdmissionPolicyBindingList"},
	} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(gvk)
		if err := s.client.List(ctx, list); err != nil || len(list.Items) > 0 {
			t.Errorf("%d of %s are left: %v", len(list.Items), gvk.Kind, err)
		}
	}
	server := parse(t, "default", `{kind: MCPServer, metadata: {name: files}}`)
	if err := s.client.Get(ctx, client.ObjectKeyFromObject(server), server); !apierrors.IsNotFound(err) && !isNoMatch(err) {
		t.Errorf("the MCPServer is left: %v", err)
	}
	s.freeNamespace(t)
}

// freeNamespace does what the namespace controller does at the end, which is not here.
func (s *apiServer) freeNamespace(t *testing.T) {
	t.Helper()
	ns := &unstructured.Unstructured{}
	ns.SetAPIVersion("v1")
	ns.SetKind("Namespace")
	err := s.client.Get(context.Background(), client.ObjectKey{Name: "toolgate-system"}, ns)
	if apierrors.IsNotFound(err) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if ns.GetDeletionTimestamp() == nil {
		t.Error("the namespace of the manager is not being deleted")
	}
	unstructured.RemoveNestedField(ns.Object, "spec", "finalizers")
	if err := s.client.SubResource("finalize").Update(context.Background(), ns); err != nil {
		t.Fatal(err)
	}
}

func isNoMatch(err error) bool {
	return err != nil && (strings.Contains(err.Error(), "no matches for kind") || apierrors.ReasonForError(err) == metav1.StatusReasonNotFound)
}

// TestNothingOfOursHasFinalizers looks for the word where an object of ours could get one.
func TestNothingOfOursHasFinalizers(t *testing.T) {
	for _, folder := range []string{"api", "controllers", "internal/render", "cmd/manager"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry os.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, word := range []string{"WithFinalizers(", "AddFinalizer(", "SetFinalizers(", ".Finalizers ="} {
				if bytes.Contains(data, []byte(word)) {
					t.Errorf("%s calls %s: owner references collect everything", path, word)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
