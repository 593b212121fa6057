// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"toolgate.dev/toolgate/internal/jsonrpc"
)

// The tokenizer keeps a table of the protocol's keys of its own, so that it stays a leaf: a key in another case is refused
// with the right one, which is ours.
func TestTheTokenizerKnowsTheKeysOfMeta(t *testing.T) {
	for _, key := range []string{MetaVersion, MetaCapabilities, MetaClientInfo, MetaServerInfo, MetaSubscription, ProgressToken} {
		t.Run(key, func(t *testing.T) {
			read := func(key string) error {
				_, err := jsonrpc.Parse([]byte(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"`+key+`":1}}}`), jsonrpc.Limits{})
				return err
			}
			if err := read(key); err != nil {
				t.Errorf("the key itself: %v", err)
			}
			name := strings.TrimPrefix(key, MetaPrefix)
			other := strings.TrimSuffix(key, name) + strings.ToUpper(name)
			if err := read(other); err == nil || !strings.Contains(err.Error(), strconv.Quote(key)) {
				t.Errorf("%s: %v, want an error that names %s", other, err, key)
			}
		})
	}
}

// Code compares revisions by their names.
func TestRevisionsAreInOrder(t *testing.T) {
	newestFirst := func(a, b string) int { return strings.Compare(b, a) }
	if !slices.IsSortedFunc(Revisions, newestFirst) || Revisions[0] != Modern || !slices.Equal(Revisions[1:], Legacy) {
		t.Errorf("Revisions are %q, want Modern and then Legacy, newest first", Revisions)
	}
	if Legacy[0] != LatestLegacy || Legacy[len(Legacy)-1] != OldestLegacy {
		t.Errorf("Legacy is %q, want those from %s to %s", Legacy, LatestLegacy, OldestLegacy)
	}
	if slices.Contains(Revisions, Unpublished) {
		t.Errorf("%s was never published, but is among %q", Unpublished, Revisions)
	}
	for _, version := range []string{Assumed, SinceErrorResults, SincePriming} {
		if !slices.Contains(Legacy, version) {
			t.Errorf("%s is not among %q", version, Legacy)
		}
	}
}

// What is said here is not said again in the data plane, so that a new revision is looked for in one place. Played servers
// and tests spell the protocol themselves.
func TestTheDataPlaneTakesItsWordsFromHere(t *testing.T) {
	words := map[string]string{}
	for _, version := range Revisions {
		words[version] = "one of mcp.Revisions"
	}
	inspect(t, ".", func(_ string, n ast.Node) {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return
		}
		for i, value := range spec.Values {
			if word := literal(value); word != "" {
				words[word] = "mcp." + spec.Names[i].Name
			}
		}
	})
	if words["tools/call"] != "mcp.MethodCallTool" || words["-32020"] != "mcp.CodeHeaderMismatch" || words[MetaPrefix+"tasks"] != "mcp.ExtensionTasks" {
		t.Fatalf("the words were not found: %v", words)
	}
	for _, root := range []string{"../dispatcher", "../../cmd/dispatcher"} {
		inspect(t, root, func(at string, n ast.Node) {
			if said := words[literal(n)]; said != "" {
				t.Errorf("%s spells %s: use %s", at, literal(n), said)
			}
		})
	}
}

// inspect goes through what is built of a folder and those below it, but for played servers.
func inspect(t *testing.T, root string, see func(at string, n ast.Node)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && strings.HasSuffix(path, "test"):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if n != nil {
				see(files.Position(n.Pos()).String(), n)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// literal is a string, a key under MetaPrefix, or a negative number as the source has it, empty for any other node.
func literal(n ast.Node) string {
	switch n := n.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(n.Value); n.Kind == token.STRING && err == nil {
			return text
		}
	case *ast.BinaryExpr:
		if prefix, ok := n.X.(*ast.Ident); ok && prefix.Name == "MetaPrefix" {
			return MetaPrefix + literal(n.Y)
		}
	case *ast.UnaryExpr:
		if number, ok := n.X.(*ast.BasicLit); ok && n.Op == token.SUB && number.Kind == token.INT {
			return "-" + number.Value
		}
	}
	return ""
}

func TestAHeaderCarriesEveryText(t *testing.T) {
	for _, text := range []string{"", "get_weather", "Größe", " led", "two\nlines", "=?base64?YQ==?=", "a b", "a\x7f"} {
		header := EncodeHeader(text)
		for _, r := range header {
			if r < ' ' || r > '~' {
				t.Errorf("%q is written as %q, which is no header", text, header)
			}
		}
		if got, ok := DecodeHeader(header); !ok || got != text {
			t.Errorf("%q is written as %q and read as %q, %v", text, header, got, ok)
		}
	}
	if _, ok := DecodeHeader("=?base64?%?="); ok {
		t.Error("what is no base64 is read")
	}
}
