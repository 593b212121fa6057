// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package corpus holds docs/corpus.md to what it says: that each fault of another proxy has tests, and that they pass; and the
// tables of docs/protocol.md and docs/corpus-operator.md to the tests that they name.
//
// The tables themselves are checked with every run. The tests that they name run in their own packages; with the build tag
// corpus, as hack/corpus.sh sets it, row by row as well.
package corpus

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

const root = "../.."

// known is how many rows there are: none is ever taken out.
const known = 92

// row is one fault, and the tests that keep it out.
type row struct {
	name string
	refs []ref
}

// ref names a test, or the subtests of one whose names hold part.
type ref struct{ pkg, test, part string }

var refPattern = regexp.MustCompile("`([a-z0-9/]+)\\.(Test[A-Za-z0-9]+)(?:/([^`]+))?`")

// table reads docs/corpus.md.
func table(t *testing.T) []row {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "docs/corpus.md"))
	if err != nil {
		t.Fatal(err)
	}
	var rows []row
	for line := range strings.Lines(string(data)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) < 4 || !strings.HasPrefix(strings.TrimSpace(cells[0]), "G-") {
			continue
		}
		r := row{name: strings.TrimSpace(cells[0])}
		for _, m := range refPattern.FindAllStringSubmatch(cells[len(cells)-1], -1) {
			r.refs = append(r.refs, ref{m[1], m[2], strings.ReplaceAll(m[3], " ", "_")})
		}
		rows = append(rows, r)
	}
	return rows
}

// packages gives the folders that have tests.
func packages(t *testing.T) []string {
	t.Helper()
	var folders []string
	for _, top := range []string{"api", "cmd", "controllers", "internal", "test"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, _ fs.DirEntry, err error) error {
			if dir := filepath.Dir(path); strings.HasSuffix(path, "_test.go") && !slices.Contains(folders, dir) {
				folders = append(folders, dir)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return folders
}

// folderOf gives the folder of a package that the table names by the end of its path.
func folderOf(t *testing.T, folders []string, pkg string) string {
	t.Helper()
	var fits []string
	for _, folder := range folders {
		if strings.HasSuffix(folder, "/"+pkg) {
			fits = append(fits, folder)
		}
	}
	if len(fits) != 1 {
		t.Fatalf("the table names the package %s, of which there are %v", pkg, fits)
	}
	return fits[0]
}

// TestTable wants each row once, with tests that exist.
func TestTable(t *testing.T) {
	rows, folders := table(t), packages(t)
	if len(rows) < known {
		t.Errorf("%d rows, there were %d", len(rows), known)
	}
	seen := map[string]bool{}
	for _, r := range rows {
		if seen[r.name] || len(r.refs) == 0 {
			t.Errorf("%s is there twice, or names no test", r.name)
		}
		seen[r.name] = true
		for _, ref := range r.refs {
			if !declared(t, folderOf(t, folders, ref.pkg), ref.test) {
				t.Errorf("%s: there is no %s.%s", r.name, ref.pkg, ref.test)
			}
		}
	}
}

// cells reads docs/protocol.md, a row for each cell of its table.
func cells(t *testing.T) []row {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "docs/protocol.md"))
	if err != nil {
		t.Fatal(err)
	}
	var all []row
	var columns []string
	for line := range strings.Lines(string(data)) {
		parts := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		switch {
		case len(parts) != 5 || strings.HasPrefix(parts[0], "-"):
		case columns == nil:
			columns = parts
		default:
			for i, cell := range parts[1:] {
				r := row{name: strings.TrimSpace(parts[0]) + ":" + columns[i+1]}
				for _, m := range refPattern.FindAllStringSubmatch(cell, -1) {
					r.refs = append(r.refs, ref{m[1], m[2], strings.ReplaceAll(m[3], " ", "_")})
				}
				all = append(all, r)
			}
		}
	}
	return all
}

// transcripts are the dialogues that the cells of docs/protocol.md name, a file for each row and in it one for each column.
const transcripts = "test/dataplane/testdata/transcripts"

// TestProtocol wants every cell of docs/protocol.md to name a test that exists, and a dialogue.
func TestProtocol(t *testing.T) {
	folders, all := packages(t), cells(t)
	if len(all) < 40 {
		t.Errorf("%d cells", len(all))
	}
	for _, cell := range all {
		if !played(t, cell) {
			t.Errorf("%s: no dialogue in %s", cell.name, transcripts)
		}
		for _, ref := range cell.refs {
			if !declared(t, folderOf(t, folders, ref.pkg), ref.test) {
				t.Errorf("%s: there is no %s.%s", cell.name, ref.pkg, ref.test)
			}
		}
	}
}

// played says whether a cell names a dialogue that there is.
func played(t *testing.T, cell row) bool {
	t.Helper()
	_, column, _ := strings.Cut(cell.name, ": ")
	for _, ref := range cell.refs {
		if ref.test != "TestTranscripts" || ref.pkg != "dataplane" {
			continue
		}
		archive, err := txtar.ParseFile(filepath.Join(root, transcripts, ref.part+".txtar"))
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(archive.Files, func(f txtar.File) bool { return f.Name == strings.TrimSpace(column) && len(f.Data) > 0 })
	}
	return false
}

func declared(t *testing.T, folder, test string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(data, []byte("func "+test+"(t *testing.T)")) {
			return true
		}
	}
	return false
}
