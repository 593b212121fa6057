//go:build corpus

// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package corpus

import (
	"bufio"
	"bytes"
	"encoding/json"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// elsewhere are packages whose tests have commands of their own: make conformance, make clients.
var elsewhere = []string{"conformance", "clients"}

// TestRows runs the tests that both tables name, a subtest for each row and each cell.
func TestRows(t *testing.T) {
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
