// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const suiteDir = "../../../shared/data/json-schema-test-suite"

// remotes serves the suite's own documents, which it expects at http://localhost:1234.
type remotes struct{ dir string }

func (r remotes) Load(url string) (any, error) {
	path, ok := strings.CutPrefix(url, "http://localhost:1234/")
	if !ok {
		return nil, errors.New("not one of the suite's remotes")
	}
	f, err := os.Open(filepath.Join(r.dir, filepath.FromSlash(path)))
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return jsonschema.UnmarshalJSON(f)
}

type suiteGroup struct {
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
	Tests       []struct {
		Description string          `json:"description"`
		Data        json.RawMessage `json:"data"`
		Valid       bool            `json:"valid"`
	} `json:"tests"`
}

// TestOfficialSuite runs the required tests (those outside of optional/) of each dialect; all must pass.
func TestOfficialSuite(t *testing.T) {
	if _, err := os.Stat(suiteDir); err != nil {
		t.Skipf("the JSON Schema suite is not there: %v", err)
	}
	for dir, dialect := range map[string]string{
		"draft4": "http://json-schema.org/draft-04/schema", "draft6": "http://json-schema.org/draft-06/schema",
		"draft7": "http://json-schema.org/draft-07/schema", "draft2019-09": "https://json-schema.org/draft/2019-09/schema",
		"draft2020-12": "https://json-schema.org/draft/2020-12/schema",
	} {
		t.Run(dir, func(t *testing.T) {
			passed := 0
			files, err := filepath.Glob(filepath.Join(suiteDir, "tests", dir, "*.json"))
			if err != nil || len(files) == 0 {
				t.Fatalf("no tests in %s: %v", dir, err)
			}
			for _, file := range files {
				passed += runSuiteFile(t, file, dialect)
			}
			t.Logf("%d tests passed", passed)
		})
	}
}

func runSuiteFile(t *testing.T, file, dialect string) (passed int) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) || err != nil {
		t.Fatal(err)
	}
	var groups []suiteGroup
	if err := json.Unmarshal(raw, &groups); err != nil {
		t.Fatal(err)
	}
	opts := Options{loader: remotes{filepath.Join(suiteDir, "remotes")}, defaultDialect: dialect}
	for _, g := range groups {
		s, err := Compile(g.Schema, opts)
		if err != nil {
			t.Errorf("%s: %s: %v", filepath.Base(file), g.Description, err)
			continue
		}
		for _, tc := range g.Tests {
			vs := s.Validate(tc.Data)
			if (vs == nil) != tc.Valid {
				t.Errorf("%s: %s: %s: valid is %t, want %t: %s", filepath.Base(file), g.Description, tc.Description, vs == nil, tc.Valid, fmt.Sprint(vs))
				continue
			}
			if s.quick.Accepts(tc.Data) && !tc.Valid {
				t.Errorf("%s: %s: %s: the short cut accepts what is invalid", filepath.Base(file), g.Description, tc.Description)
			}
			passed++
		}
	}
	return passed
}
