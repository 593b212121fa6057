// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/catalog"
	"toolgate.dev/toolgate/internal/registry"
)

// TestWordsOfWithheldTools holds the API's reasons to the words that a dispatcher has itself.
func TestWordsOfWithheldTools(t *testing.T) {
	for reason, want := range map[string]string{
		v1alpha1.ReasonDisabled:      registry.WithheldDisabled,
		v1alpha1.ReasonInvalidSchema: registry.WithheldInvalid,
		v1alpha1.ReasonDuplicateName: registry.WithheldDuplicate,
	} {
		if reason != want {
			t.Errorf("the API says %q where a dispatcher says %q", reason, want)
		}
	}
}

// TestReasonsOfFailingServers holds the API's reasons to be the words with which a dispatcher says what it saw.
func TestReasonsOfFailingServers(t *testing.T) {
	for reason, want := range map[string]registry.FailureReason{
		v1alpha1.ReasonServerStartFailed:          registry.FailStart,
		v1alpha1.ReasonServerExited:               registry.FailExited,
		v1alpha1.ReasonNotMCP:                     registry.FailNotMCP,
		v1alpha1.ReasonServerTimeout:              registry.FailTimeout,
		v1alpha1.ReasonServerUnreachable:          registry.FailUnreachable,
		v1alpha1.ReasonServerUnauthorized:         registry.FailUnauthorized,
		v1alpha1.ReasonCatalogueInvalid:           registry.FailCatalogue,
		v1alpha1.ReasonUnsupportedProtocolVersion: registry.FailProtocol,
	} {
		if reason != string(want) {
			t.Errorf("the API says %q where a dispatcher says %q", reason, want)
		}
	}
}

// declare asks the API server, without storing it, for the MCPTool of a tool under the name that discovery gives it.
func (s *apiServer) declare(tool string) error {
	return s.client.Create(context.Background(), &v1alpha1.MCPTool{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: catalog.ObjectName("files", tool)},
		Spec:       v1alpha1.MCPToolSpec{ServerRef: v1alpha1.ServerRef{Name: "files"}, ToolName: tool},
	}, client.DryRunAll)
}

// TestEveryRealToolCanBeDeclared writes an MCPTool for each tool of the real servers whose lists are at hand.
func TestEveryRealToolCanBeDeclared(t *testing.T) {
	s := need(t)
	const lists = root + "/../shared/data/tool-lists"
	files, err := filepath.Glob(lists + "/*.json")
	if err != nil || len(files) == 0 {
		t.Skipf("no tool lists in %s", lists)
	}
	count := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range toolNames(t, file, data) {
			count++
			if err := s.declare(name); err != nil {
				t.Errorf("%s: %q as %s: %v", filepath.Base(file), name, catalog.ObjectName("files", name), err)
			}
		}
	}
	t.Logf("%d tools of %d servers", count, len(files))
	if count < len(files) {
		t.Errorf("found %d tools in %d lists: the lists were not read right", count, len(files))
	}
}

func toolNames(t *testing.T, file string, data []byte) []string {
	t.Helper()
	var list struct {
		Tools  []struct{ Name string }
		Result struct{ Tools []struct{ Name string } }
	}
	if err := json.Unmarshal(data, &list); err != nil {
		if err := json.Unmarshal(data, &list.Tools); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	var names []string
	for _, tool := range append(list.Tools, list.Result.Tools...) {
		names = append(names, tool.Name)
	}
	return names
}

// TestEveryNameCanBeDeclared holds the rules about names to what catalog.ObjectName gives, for names of every kind.
func TestEveryNameCanBeDeclared(t *testing.T) {
	s := need(t)
	odd := []string{"a", "_", "__", "a_", "_a", "A", "a.b", "a-b", "x_0123abcd", "0", "é", "Über", " ", "a b", strings.Repeat("a", 189), strings.Repeat("a", 190), strings.Repeat("é", 1024)}
	for _, name := range odd {
		if err := s.declare(name); err != nil {
			t.Errorf("%.40q as %s: %v", name, catalog.ObjectName("files", name), err)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-zA-Z0-9_./ -]{1,40}`).Draw(t, "name")
		if err := s.declare(name); err != nil {
			t.Fatalf("as %s: %v", catalog.ObjectName("files", name), err)
		}
	})
}
