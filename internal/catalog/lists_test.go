// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"toolgate.dev/toolgate/internal/jsonrpc"
)

// listsDir holds the tool lists of real servers: the tools of all pages as one array, and how many there are.
const listsDir = "../../../shared/data/tool-lists"

// realLists returns the tool lists of real servers, by server.
func realLists(t testing.TB) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(listsDir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skipf("the tool lists are not at %s", listsDir)
	}
	lists := make(map[string][]byte, len(files))
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lists[strings.TrimSuffix(filepath.Base(file), ".json")] = data
	}
	return lists
}

// realTools returns every tool of every real list.
func realTools(t testing.TB) []Tool {
	t.Helper()
	var tools []Tool
	for server, list := range realLists(t) {
		defs, _, err := ParseTools(list)
		if err != nil {
			t.Fatalf("%s: %v", server, err)
		}
		for _, def := range defs {
			tool, err := ParseTool(def)
			if err != nil {
				t.Fatalf("%s: %v", server, err)
			}
			tools = append(tools, tool)
		}
	}
	return tools
}

// wantTools is how many tools each real server lists; counted by other means.
var wantTools = map[string]int{
	"chart": 27, "commands": 1, "everything": 16, "filesystem": 14, "git": 28, "github": 26, "go-everything": 10,
	"go-memory": 9, "kubernetes-js": 23, "memory": 9, "mysql": 0, "pdf": 9, "playwright": 25, "postgres": 1,
	"sequential-thinking": 1, "time": 6,
}

func TestEveryRealListYieldsItsTools(t *testing.T) {
	for server, list := range realLists(t) {
		t.Run(server, func(t *testing.T) {
			defs, next, err := ParseTools(list)
			if err != nil || next != "" {
				t.Fatalf("ParseTools = cursor %q, %v, want no cursor and no error", next, err)
			}
			if want, known := wantTools[server]; known && len(defs) != want {
				t.Fatalf("%d tools, want %d", len(defs), want)
			}
			var tools []Tool
			for _, def := range defs {
				tool, err := ParseTool(def)
				if err != nil {
					t.Errorf("ParseTool(%.80s…) = %v", def, err)
				}
				checkRealTool(t, server, tool)
				tools = append(tools, tool)
			}
			digest := CatalogueDigest(tools)
			slices.Reverse(tools)
			if again := CatalogueDigest(tools); again != digest {
				t.Errorf("CatalogueDigest depends on the order: %s and %s", digest, again)
			}
		})
	}
}

func checkRealTool(t *testing.T, server string, tool Tool) {
	t.Helper()
	if tool.Name == "" || !strings.HasPrefix(tool.Digest, DigestPrefix) || len(tool.Digest) != len(DigestPrefix)+64 {
		t.Errorf("tool %q with digest %q", tool.Name, tool.Digest)
	}
	if !jsonrpc.IsObject(tool.InputSchema) {
		t.Errorf("tool %q without an input schema", tool.Name)
	}
	if want := server == "everything" && tool.Name == "simulate-research-query"; tool.TaskRequired != want {
		t.Errorf("tool %q: TaskRequired = %t, want %t", tool.Name, tool.TaskRequired, want)
	}
	if name := ObjectName(server, tool.Name); !isSubdomain(name) {
		t.Errorf("ObjectName(%q, %q) = %q, which is no DNS subdomain", server, tool.Name, name)
	}
}

func TestRealDigestsAreDistinct(t *testing.T) {
	seen := map[string]string{}
	for _, tool := range realTools(t) {
		if other, twice := seen[tool.Digest]; twice {
			t.Errorf("tools %q and %q share %s", tool.Name, other, tool.Digest)
		}
		seen[tool.Digest] = tool.Name
	}
	t.Logf("%d tools", len(seen))
}

func BenchmarkParseTool(b *testing.B) {
	tools := realTools(b)
	size := 0
	for _, tool := range tools {
		size += len(tool.Definition)
	}
	b.SetBytes(int64(size / len(tools)))
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if _, err := ParseTool(tools[i%len(tools)].Definition); err != nil {
			b.Fatal(err)
		}
		i++
	}
}
