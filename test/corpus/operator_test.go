// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package corpus

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// knownOfOperators is how many rows the two tables of docs/corpus-operator.md have: none is ever taken out, but a row may go from
// one table to the other.
const knownOfOperators = 183

// specPattern finds a spec of Ginkgo by words of its text.
var specPattern = regexp.MustCompile("`([a-z0-9/]+): ([^`]+)`")

// words are what a row wants to find in the tests of a package, or among the names of their inputs.
type words struct{ pkg, text string }

// operatorRow is one fault of another operator: tests by their functions, subtests and specs by words. A row of the second
// table has a reason instead.
type operatorRow struct {
	name, why string
	tests     []ref
	words     []words
}

// operatorTables reads docs/corpus-operator.md.
func operatorTables(t *testing.T) []operatorRow {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "docs/corpus-operator.md"))
	if err != nil {
		t.Fatal(err)
	}
	var rows []operatorRow
	for line := range strings.Lines(string(data)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		name, last := strings.TrimSpace(cells[0]), strings.TrimSpace(cells[len(cells)-1])
		switch {
		case name == "row" || strings.HasPrefix(name, "---"):
		case len(cells) == 3:
			rows = append(rows, operatorRow{name: name, why: last})
		case len(cells) == 4:
			r := operatorRow{name: name}
			for _, m := range refPattern.FindAllStringSubmatch(last, -1) {
				r.tests = append(r.tests, ref{pkg: m[1], test: m[2]})
				if m[3] != "" {
					r.words = append(r.words, words{m[1], m[3]})
				}
			}
			for _, m := range specPattern.FindAllStringSubmatch(last, -1) {
				r.words = append(r.words, words{m[1], m[2]})
			}
			if strings.Count(last, "`") != 2*(len(refPattern.FindAllString(last, -1))+len(specPattern.FindAllString(last, -1))) {
				t.Errorf("%s: not every name in %s is read", name, last)
			}
			rows = append(rows, r)
		}
	}
	return rows
}

// TestOperatorTables wants each fault of another operator once, with tests and specs that exist, or with a reason.
func TestOperatorTables(t *testing.T) {
	rows, folders, texts := operatorTables(t), packages(t), map[string]string{}
	if len(rows) < knownOfOperators {
		t.Errorf("%d rows, there were %d", len(rows), knownOfOperators)
	}
	seen := map[string]bool{}
	for _, r := range rows {
		for id := range strings.SplitSeq(r.name, ", ") {
			if seen[id] {
				t.Errorf("%s is there twice", id)
			}
			seen[id] = true
		}
		if r.why == "" && len(r.tests)+len(r.words) == 0 {
			t.Errorf("%s has neither a test nor a reason", r.name)
		}
		for _, ref := range r.tests {
			if !declared(t, folderOf(t, folders, ref.pkg), ref.test) {
				t.Errorf("%s: there is no %s.%s", r.name, ref.pkg, ref.test)
			}
		}
		for _, w := range r.words {
			folder := folderOf(t, folders, w.pkg)
			if texts[folder] == "" {
				texts[folder] = textOf(t, folder)
			}
			if !strings.Contains(texts[folder], w.text) {
				t.Errorf("%s: no test of %s says %q", r.name, w.pkg, w.text)
			}
		}
	}
}

// textOf gives the source of a package's tests, and the names of their inputs.
func textOf(t *testing.T, folder string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		inputs := strings.HasPrefix(path, filepath.Join(folder, "testdata"))
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != folder && !inputs:
			return filepath.SkipDir // another package
		case inputs:
			all.WriteString(path + "\n")
		case strings.HasSuffix(path, "_test.go"):
			data, err := os.ReadFile(path)
			all.Write(data)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}
