// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package violation

import "strings"

// Explain puts violations into one text from which a model can correct its call: path, keyword, what is expected.
// It gives "" for none.
func Explain(vs []Violation) string {
	var b strings.Builder
	for i, v := range vs {
		if i > 0 {
			b.WriteByte('\n')
		}
		path := v.Path
		if path == "" {
			path = "(the whole value)"
		}
		b.WriteString(path + ": " + v.Message)
		if v.Expected != "" {
			b.WriteString("; expected " + v.Expected)
		}
		if v.Keyword != "" {
			b.WriteString(" [" + v.Keyword + "]")
		}
	}
	if len(vs) >= Most {
		b.WriteString("\n(there may be more)")
	}
	return b.String()
}
