// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package corpus holds docs/corpus.md to what it says: that each fault of another proxy has tests, and that they pass; and the
// table of docs/protocol.md to the tests that it names.
//
// The table itself is checked with every run. The tests that it names are run where TOOLGATE_CORPUS is set, as hack/corpus.sh
// does; elsewhere they run in their own packages.
package corpus

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
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

var refPattern = regexp.MustCompile("`([a-z/]+)\\.(Test[A-Za-z0-9]+)(?:/([^`]+))?`")

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
	for _, top := range []string{"internal", "test", "cmd"} {
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

// TestProtocol wants every cell of docs/protocol.md to name a test that exists.
func TestProtocol(t *testing.T) {
	folders, all := packages(t), cells(t)
	if len(all) < 40 {
		t.Errorf("%d cells", len(all))
	}
	for _, cell := range all {
		if len(cell.refs) == 0 {
			t.Errorf("%s: no test", cell.name)
		}
		for _, ref := range cell.refs {
			if !declared(t, folderOf(t, folders, ref.pkg), ref.test) {
				t.Errorf("%s: there is no %s.%s", cell.name, ref.pkg, ref.test)
			}
		}
	}
}

// elsewhere are packages whose tests have commands of their own: make conformance, make clients.
var elsewhere = []string{"conformance", "clients"}

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

// TestRows runs the tests that both tables name, a subtest for each row and each cell.
func TestRows(t *testing.T) {
	if os.Getenv("TOOLGATE_CORPUS") == "" {
		t.Skip("TOOLGATE_CORPUS is not set; hack/corpus.sh sets it")
	}
	rows, folders := append(table(t), cells(t)...), packages(t)
	for i := range rows {
		rows[i].refs = slices.DeleteFunc(rows[i].refs, func(r ref) bool { return slices.Contains(elsewhere, r.pkg) })
	}
	tests := map[string]map[string]bool{} // by package
	for _, r := range rows {
		for _, ref := range r.refs {
			if tests[ref.pkg] == nil {
				tests[ref.pkg] = map[string]bool{}
			}
			tests[ref.pkg][ref.test] = true
		}
	}
	outcomes := map[string]map[string]string{}
	for _, pkg := range slices.Sorted(maps.Keys(tests)) {
		outcomes[pkg] = carryOut(t, folderOf(t, folders, pkg), slices.Sorted(maps.Keys(tests[pkg])))
		t.Logf("%s: %d tests and subtests", pkg, len(outcomes[pkg]))
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			for _, ref := range r.refs {
				checkOutcome(t, ref, outcomes[ref.pkg])
			}
		})
	}
}

// carryOut runs tests of a package and gives what became of each of their subtests: pass, fail or skip.
func carryOut(t *testing.T, folder string, tests []string) map[string]string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-json", "-run", "^("+strings.Join(tests, "|")+")$", ".")
	cmd.Dir = folder
	out, err := cmd.Output()
	if err != nil {
		t.Logf("%s: %v", folder, err) // the rows say which test it was
	}
	outcomes := map[string]string{}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var event struct{ Action, Test, Output string }
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			continue // the compiler's own words
		}
		switch event.Action {
		case "pass", "fail", "skip":
			outcomes[event.Test] = event.Action
		}
		if event.Action == "output" && strings.Contains(event.Output, "_test.go:") {
			t.Log(event.Test, strings.TrimSpace(event.Output))
		}
	}
	return outcomes
}

func checkOutcome(t *testing.T, want ref, outcomes map[string]string) {
	t.Helper()
	passed := 0
	for name, outcome := range outcomes {
		rest, inside := strings.CutPrefix(name, want.test)
		if !inside || want.part == "" && rest != "" || want.part != "" && !holds(rest, want.part) {
			continue
		}
		if outcome != "pass" {
			t.Errorf("%s.%s: %s", want.pkg, name, outcome)
		}
		passed++
	}
	if passed == 0 {
		t.Errorf("%s.%s with %q did not run", want.pkg, want.test, want.part)
	}
}

// holds says whether the name of a subtest holds a part, which no digit follows: G-1 is not G-10.
func holds(name, part string) bool {
	_, after, found := strings.Cut(name, part)
	return found && (after == "" || after[0] < '0' || after[0] > '9')
}
