// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// suiteDir holds the JSON parsing test suite: y_ must be accepted, n_ must be refused, i_ is up to the parser.
const suiteDir = "../../../shared/data/json-test-suite/test_parsing"

// suiteChoices are the inputs that Toolgate refuses although RFC 8259 allows them (y_) or leaves the choice (i_), each with
// its cause. Every other y_ and i_ is accepted: the i_ among them are numbers beyond a double, which are forwarded as they
// are.
var suiteChoices = map[string]Cause{
	"y_object_duplicated_key.json":                        CauseDuplicateKey,
	"y_object_duplicated_key_and_value.json":              CauseDuplicateKey,
	"y_object_escaped_null_in_key.json":                   CauseNULKey,
	"i_object_key_lone_2nd_surrogate.json":                CauseSurrogate,
	"i_string_1st_surrogate_but_2nd_missing.json":         CauseSurrogate,
	"i_string_1st_valid_surrogate_2nd_invalid.json":       CauseSurrogate,
	"i_string_incomplete_surrogate_and_escape_valid.json": CauseSurrogate,
	"i_string_incomplete_surrogate_pair.json":             CauseSurrogate,
	"i_string_incomplete_surrogates_escape_valid.json":    CauseSurrogate,
	"i_string_invalid_lonely_surrogate.json":              CauseSurrogate,
	"i_string_invalid_surrogate.json":                     CauseSurrogate,
	"i_string_inverted_surrogates_U+1D11E.json":           CauseSurrogate,
	"i_string_lone_second_surrogate.json":                 CauseSurrogate,
	"i_string_UTF-16LE_with_BOM.json":                     CauseEncoding,
	"i_string_UTF-8_invalid_sequence.json":                CauseEncoding,
	"i_string_UTF8_surrogate_U+D800.json":                 CauseEncoding,
	"i_string_invalid_utf-8.json":                         CauseEncoding,
	"i_string_iso_latin_1.json":                           CauseEncoding,
	"i_string_lone_utf8_continuation_byte.json":           CauseEncoding,
	"i_string_not_in_unicode_range.json":                  CauseEncoding,
	"i_string_overlong_sequence_2_bytes.json":             CauseEncoding,
	"i_string_overlong_sequence_6_bytes.json":             CauseEncoding,
	"i_string_overlong_sequence_6_bytes_null.json":        CauseEncoding,
	"i_string_truncated-utf-8.json":                       CauseEncoding,
	"i_string_utf16BE_no_BOM.json":                        CauseSyntax,
	"i_string_utf16LE_no_BOM.json":                        CauseSyntax,
	"i_structure_500_nested_arrays.json":                  CauseDepth,
	"i_structure_UTF-8_BOM_empty_object.json":             CauseEncoding,
}

func TestParsingSuite(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(suiteDir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skipf("the JSON parsing suite is not at %s", suiteDir)
	}
	seen := map[byte]int{}
	for _, file := range files {
		name := filepath.Base(file)
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			checkSuiteFile(t, name, data)
		})
		seen[name[0]]++
	}
	t.Logf("%d that must be accepted, %d that must be refused, %d left to the parser", seen['y'], seen['n'], seen['i'])
}

func checkSuiteFile(t *testing.T, name string, data []byte) {
	t.Helper()
	err := Check(data, Limits{})
	want, chosen := suiteChoices[name]
	switch {
	case strings.HasPrefix(name, "n_"):
		if err == nil {
			t.Fatalf("Check(%q) accepted what is not JSON", data)
		}
	case chosen:
		if got := causeOf(err); got != want {
			t.Fatalf("Check(%q) = %v, want cause %s", data, err, want)
		}
	case err != nil:
		t.Fatalf("Check(%q) = %v, want nil", data, err)
	}
	if err != nil && codeOf(err) != CodeParseError {
		t.Errorf("Check(%q) = %v, want a SyntaxError", data, err)
	}
}

// causeOf returns the cause of a SyntaxError, "" for any other error and nil.
func causeOf(err error) Cause {
	var syntax *SyntaxError
	if errors.As(err, &syntax) {
		return syntax.Cause
	}
	return ""
}
