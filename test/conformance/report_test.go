// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// scenario is what the suite says of one scenario.
type scenario struct {
	name           string
	good           bool
	passed, failed int    // checks
	unscored       string // why it does not count; empty if it does
}

var (
	// summaryLine is one of the suite's summary: a mark, a scenario, its checks.
	summaryLine = regexp.MustCompile(`^([✓✗]) (\S+): (\d+) passed, (\d+) failed`)
	// unscoredLine names a scenario that does not count at this revision, and why.
	unscoredLine = regexp.MustCompile(`^  [✓✗] (\S+) \(([^)]+)\)`)
)

// parse reads the suite's summary.
func parse(output string) []*scenario {
	var all []*scenario
	byName := map[string]*scenario{}
	for line := range strings.Lines(output) {
		if m := summaryLine.FindStringSubmatch(line); m != nil {
			s := &scenario{name: m[2], good: m[1] == "✓"}
			s.passed, _ = strconv.Atoi(m[3])
			s.failed, _ = strconv.Atoi(m[4])
			all = append(all, s)
			byName[s.name] = s
		}
		if m := unscoredLine.FindStringSubmatch(line); m != nil && byName[m[1]] != nil {
			byName[m[1]].unscored = m[2]
		}
	}
	return all
}

// totals counts scenarios and their checks.
type totals struct{ scored, passed, checks, failedChecks, unscored, unscoredFailed int }

// report makes a subtest of each scenario, and writes the totals where hack/conformance.sh prints them. A failure of a scored
// scenario is one of the test, and so is a run of none.
func report(t *testing.T, folder string, scenarios []*scenario) {
	t.Helper()
	var n totals
	for _, s := range scenarios {
		n.add(s)
		t.Run(shellSafe(s.name), func(t *testing.T) {
			problems := failures(t, folder, s.name)
			switch {
			case !s.good && s.unscored == "":
				t.Errorf("%d checks passed, %d failed\n%s", s.passed, s.failed, problems)
			case s.unscored != "":
				t.Logf("not scored (%s): %d checks passed, %d failed\n%s", s.unscored, s.passed, s.failed, problems)
			case problems != "":
				t.Log(problems)
			}
		})
	}
	line := fmt.Sprintf("%-44s %d of %d scored scenarios passed (%d checks passed, %d failed); not scored: %d, of which %d failed",
		t.Name(), n.passed, n.scored, n.checks, n.failedChecks, n.unscored, n.unscoredFailed)
	t.Log(line)
	if n.scored == 0 {
		t.Errorf("no scored scenario ran")
	}
	if err := appendLine(filepath.Join(results, "summary.txt"), line); err != nil {
		t.Error(err)
	}
}

func (n *totals) add(s *scenario) {
	if s.unscored != "" {
		n.unscored++
		if !s.good {
			n.unscoredFailed++
		}
		return
	}
	n.scored++
	n.checks += s.passed
	n.failedChecks += s.failed
	if s.good {
		n.passed++
	}
}

// failures lists the checks of a scenario that did not succeed, a line each.
func failures(t *testing.T, folder, name string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*"+shellSafe(name)+"-20*", "checks.json"))
	if err != nil {
		t.Fatal(err)
	}
	nested, err := filepath.Glob(filepath.Join(folder, filepath.Dir(name), filepath.Base(name)+"-20*", "checks.json"))
	if err != nil {
		t.Fatal(err)
	}
	var lines strings.Builder
	for _, file := range append(files, nested...) {
		if base := filepath.Base(filepath.Dir(file)); !strings.HasPrefix(base, "server-"+name+"-20") && !strings.HasPrefix(base, filepath.Base(name)+"-20") {
			continue // of a scenario whose name ends like this one's
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var checks []struct{ ID, Status, Description, ErrorMessage string }
		if err := json.Unmarshal(data, &checks); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, c := range checks {
			if c.Status != "SUCCESS" && c.Status != "INFO" {
				fmt.Fprintf(&lines, "  %s %s: %s: %s\n", c.Status, c.ID, c.Description, c.ErrorMessage)
			}
		}
	}
	return lines.String()
}

func appendLine(path, line string) (err error) {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := file.Close(); err == nil {
			err = closeErr
		}
	}()
	_, err = fmt.Fprintln(file, line)
	return err
}
