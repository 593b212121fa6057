// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

// docs/audit.md says of every member what it is.
func TestEveryMemberIsInTheDocument(t *testing.T) {
	data, err := os.ReadFile("../../../docs/audit.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(data), "## The record")
	table, _, _ = strings.Cut(table, "\n## ")
	for i := range reflect.TypeFor[Record]().NumField() {
		name, _, _ := strings.Cut(reflect.TypeFor[Record]().Field(i).Tag.Get("json"), ",")
		if !strings.Contains(table, "`"+name+"`") {
			t.Errorf("docs/audit.md does not tell of %s", name)
		}
	}
	for _, outcome := range []Outcome{Started, Success, ToolError, Rejected, Failed, TimedOut, Cancelled, Unknown, InputRequired, ConfirmPending, Confirmed, Declined, Gap} {
		if !strings.Contains(table, "`"+string(outcome)+"`") {
			t.Errorf("docs/audit.md does not tell of %s", outcome)
		}
	}
}
