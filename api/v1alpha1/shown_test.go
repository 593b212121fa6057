// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
)

// TestTextsSayTheTrueBounds: who compares definitions by what is shown has to know where it ends.
func TestTextsSayTheTrueBounds(t *testing.T) {
	source, err := os.ReadFile("mcptool_status_types.go")
	if err != nil {
		t.Fatal(err)
	}
	for field, want := range map[string]string{
		"title for people":         fmt.Sprintf("cut after %d bytes", mcpv1alpha1.MaxShownTitle),
		"description that models":  fmt.Sprintf("cut after %d bytes", mcpv1alpha1.MaxShownDescription),
		"schemaOmitted says which": fmt.Sprintf("%d KiB", mcpv1alpha1.MaxShownSchema>>10),
	} {
		_, text, found := strings.Cut(string(source), "// "+field)
		text, _, _ = strings.Cut(text, "+optional")
		if !found || !strings.Contains(strings.Join(strings.Fields(strings.ReplaceAll(text, "//", "")), " "), want) {
			t.Errorf("the text of %q does not say %q", field, want)
		}
	}
}
