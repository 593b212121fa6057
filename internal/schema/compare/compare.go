// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"cmp"
	"slices"
	"strings"

	"toolgate.dev/toolgate/internal/schema"
)

// Kind is how much a change matters to those who use a tool, as in semantic versions.
type Kind string

// Kinds, least first.
const (
	None     Kind = "none"     // nothing changed
	Patch    Kind = "patch"    // texts alone
	Minor    Kind = "minor"    // more is accepted, or less is sent, than before
	Breaking Kind = "breaking" // what worked before need not work now
)

// rank orders kinds. One that is not known is the worst.
func (k Kind) rank() int {
	switch k {
	case None:
		return 0
	case Patch:
		return 1
	case Minor:
		return 2
	case Breaking:
		return 3
	default:
		return 4
	}
}

// Change is one difference.
type Change struct {
	// Path is an RFC 6901 pointer to what is different: in the definition that is there now, or in the one before where it
	// is no longer there.
	Path string
	Kind Kind
	// Text says in a few words what is different.
	Text string
}

// Worst is the kind of all changes together.
func Worst(changes []Change) Kind {
	worst := None
	for _, c := range changes {
		if c.Kind.rank() > worst.rank() {
			worst = c.Kind
		}
	}
	return worst
}

// Sort brings changes into a fixed order, the worst first, and leaves out what is said twice.
func Sort(changes []Change) []Change {
	slices.SortFunc(changes, func(a, b Change) int {
		return cmp.Or(b.Kind.rank()-a.Kind.rank(), strings.Compare(a.Path, b.Path), strings.Compare(a.Text, b.Text))
	})
	return slices.Compact(changes)
}

// Side is whose values a schema describes.
type Side string

// Sides.
const (
	// Arguments are sent by callers: what was valid before must be valid now.
	Arguments Side = "arguments"
	// Results are read by callers: what is valid now must have been valid before.
	Results Side = "results"
)

// Schemas compares two schemas, each accepted by schema.Compile, and gives what differs, the worst first. One that does not
// compile can't be compared, and that is breaking. prefix is a pointer to where the schemas stand, for Change.Path.
func Schemas(before, after []byte, side Side, prefix string) []Change {
	return compare(before, after, prefix, &comparison{side: side})
}

// Kept compares what is promised with what is there, as Schemas does before and after. Of arguments, a promise that says
// nothing of members that it does not name does not promise that they may be sent.
func Kept(promised, there []byte, side Side, prefix string) []Change {
	return compare(promised, there, prefix, &comparison{side: side, named: side == Arguments})
}

func compare(before, after []byte, prefix string, c *comparison) []Change {
	old, err := read(before, prefix)
	if err != nil {
		return []Change{{Path: prefix, Kind: Breaking, Text: "can't be compared: before, it was no valid schema"}}
	}
	now, err := read(after, prefix)
	if err != nil {
		return []Change{{Path: prefix, Kind: Breaking, Text: "can't be compared: it is no valid schema"}}
	}
	differences := differ(old, now)
	if len(differences) == 0 {
		return nil
	}
	if old.dialect != now.dialect {
		differences = append(differences, Change{Path: prefix + "/$schema", Kind: Minor, Text: "is read as " + now.dialect + ", before as " + old.dialect})
	}
	if Worst(differences) == Patch && !refersIntoTexts(old.root) && !refersIntoTexts(now.root) {
		return Sort(differences)
	}
	writer, reader := old, now
	if c.side == Results {
		writer, reader = now, old
	}
	c.busy, c.compiled = map[string]bool{}, map[standing]*schema.Schema{}
	breaks := c.within(writer.set(), reader.set())
	breaks = append(breaks, c.removed(old, now)...)
	return Sort(append(breaks, outside(differences, breaks)...))
}

// outside leaves out the differences that a break has told already.
func outside(differences, breaks []Change) []Change {
	return slices.DeleteFunc(differences, func(d Change) bool {
		return slices.ContainsFunc(breaks, func(b Change) bool { return b.Path == d.Path })
	})
}
