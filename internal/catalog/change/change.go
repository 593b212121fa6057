// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package change says what differs between two definitions of a tool, where, and of which kind the change is; and where a
// definition breaks what people have promised of a tool.
//
// It owns which members of a definition matter to whom, and the words that status and events show. It is a pure engine: no
// clock, no I/O. It imports internal/catalog, internal/schema/compare and nothing else of this project.
package change

import (
	"fmt"
	"strings"

	"toolgate.dev/toolgate/internal/catalog"
	"toolgate.dev/toolgate/internal/schema/compare"
)

// Members of a definition that have schemas, as pointers.
const (
	inputSchema  = "/inputSchema"
	outputSchema = "/outputSchema"
)

// Tools compares two definitions of one tool and gives what differs, the worst first. Definitions with different digests that
// differ in nothing that is looked at here differ in texts: nobody is known to rely on the rest.
func Tools(before, after catalog.Tool) []compare.Change {
	if before.Digest != "" && before.Digest == after.Digest {
		return nil
	}
	out := texts(before, after)
	out = append(out, hints(before.Annotations, after.Annotations)...)
	if after.TaskRequired && !before.TaskRequired {
		out = append(out, compare.Change{Path: "/execution/taskSupport", Kind: compare.Breaking, Text: "it can be called as a task alone"})
	}
	out = append(out, arguments(before.InputSchema, after.InputSchema, compare.Schemas)...)
	out = append(out, results(before.OutputSchema, after.OutputSchema, compare.Schemas)...)
	if len(out) == 0 {
		out = append(out, compare.Change{Kind: compare.Patch, Text: "a member that neither validates nor describes calls"})
	}
	return compare.Sort(out)
}

func texts(before, after catalog.Tool) []compare.Change {
	var out []compare.Change
	for _, text := range []struct{ path, was, is string }{
		{"/title", before.Title, after.Title},
		{"/description", before.Description, after.Description},
		{"/annotations/title", before.Annotations.Title, after.Annotations.Title},
	} {
		if text.was != text.is {
			out = append(out, compare.Change{Path: text.path, Kind: compare.Patch, Text: "has other words"})
		}
	}
	return out
}

// hints are compared by what they mean where they are absent (MCP, ToolAnnotations). A tool that says to do more harm than
// before breaks those who let it through for what it said; one that says to do less is news. So is one that says the same no more, or now:
// a server may count what nothing is said of as safe (spec.gating.unannotated).
func hints(before, after catalog.Annotations) []compare.Change {
	was, is := catalog.Effective(before, catalog.Hints{}, false), catalog.Effective(after, catalog.Hints{}, false)
	out := make([]compare.Change, 0, 4)
	for _, hint := range []struct {
		path           string
		was, is, worse bool
		before, after  *bool
	}{
		{"/annotations/readOnlyHint", was.ReadOnly, is.ReadOnly, false, before.ReadOnly, after.ReadOnly},
		{"/annotations/destructiveHint", was.Destructive, is.Destructive, true, before.Destructive, after.Destructive},
		{"/annotations/idempotentHint", was.Idempotent, is.Idempotent, false, before.Idempotent, after.Idempotent},
		{"/annotations/openWorldHint", was.OpenWorld, is.OpenWorld, true, before.OpenWorld, after.OpenWorld},
	} {
		change := compare.Change{Path: hint.path, Kind: compare.Minor}
		switch {
		case hint.was != hint.is:
			change.Text = fmt.Sprintf("%t becomes %t", hint.was, hint.is)
			if hint.is == hint.worse {
				change.Kind = compare.Breaking
			}
		case hint.before == nil && hint.after != nil:
			change.Text = fmt.Sprintf("%t is new", *hint.after)
		case hint.before != nil && hint.after == nil:
			change.Text = fmt.Sprintf("%t is gone", *hint.before)
		case hint.before != nil && *hint.before != *hint.after:
			change.Text = fmt.Sprintf("%t becomes %t", *hint.before, *hint.after)
		default:
			continue
		}
		out = append(out, change)
	}
	return out
}

// comparing is compare.Schemas or compare.Kept.
type comparing func(before, after []byte, side compare.Side, prefix string) []compare.Change

func arguments(before, after []byte, schemas comparing) []compare.Change {
	switch {
	case before == nil && after == nil:
		return nil
	case before == nil || after == nil:
		return []compare.Change{{Path: inputSchema, Kind: compare.Breaking, Text: "is not there on both sides, so it can't be compared"}}
	default:
		return schemas(before, after, compare.Arguments, inputSchema)
	}
}

func results(before, after []byte, schemas comparing) []compare.Change {
	switch {
	case before == nil && after == nil:
		return nil
	case before == nil:
		return []compare.Change{{Path: outputSchema, Kind: compare.Minor, Text: "is new"}}
	case after == nil:
		return []compare.Change{{Path: outputSchema, Kind: compare.Breaking, Text: "is gone"}}
	default:
		return schemas(before, after, compare.Results, outputSchema)
	}
}

// Contract is what people promise of a tool to those who use it. A nil schema promises nothing.
type Contract struct {
	InputSchema, OutputSchema []byte
}

// Breaks says where a definition breaks a contract: arguments that fit the contract would be refused, or results need not fit
// it. Nothing else matters to a contract. Paths are pointers into the definition.
func Breaks(contract Contract, tool catalog.Tool) []compare.Change {
	var found []compare.Change
	if contract.InputSchema != nil {
		found = append(found, arguments(contract.InputSchema, tool.InputSchema, compare.Kept)...)
	}
	if contract.OutputSchema != nil {
		found = append(found, results(contract.OutputSchema, tool.OutputSchema, compare.Kept)...)
	}
	var out []compare.Change
	for _, c := range compare.Sort(found) {
		if c.Kind == compare.Breaking {
			out = append(out, c)
		}
	}
	return out
}

// maxTold bounds the changes that Text tells.
const maxTold = 8

// Text tells changes in one line of at most limit bytes, the worst first: what is left out is counted.
func Text(changes []compare.Change, limit int) string {
	var b strings.Builder
	for i, c := range changes {
		part := told(c)
		if i > 0 {
			part = "; " + part
		}
		more := ""
		if left := len(changes) - i - 1; left > 0 {
			more = fmt.Sprintf("; and %d more", left)
		}
		if i == maxTold || b.Len()+len(part)+len(more) > limit && i > 0 {
			fmt.Fprintf(&b, "; and %d more", len(changes)-i)
			break
		}
		b.WriteString(part)
	}
	return clip(b.String(), limit)
}

// maxPath bounds a pointer in a text: names are the server's own.
const maxPath = 160

func told(c compare.Change) string {
	path := strings.Map(visible, c.Path)
	if len(path) > maxPath {
		path = "…" + strings.ToValidUTF8(path[len(path)-maxPath:], "")
	}
	if path == "" {
		return c.Text
	}
	return path + " " + strings.Map(visible, c.Text)
}

// visible takes what would break a line, or hide in one, out of what a server wrote.
func visible(r rune) rune {
	if r < 0x20 || 0x7f <= r && r < 0xa0 || 0x200b <= r && r <= 0x200f || 0x202a <= r && r <= 0x202e || 0x2060 <= r && r <= 0x206f || r == 0xfeff {
		return '\ufffd'
	}
	return r
}

func clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:max(limit-3, 0)], "") + "…"
}
