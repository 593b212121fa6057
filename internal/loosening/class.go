// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package loosening owns the answer to one question: which change of which field lets something through that was not let
// through before, and whose right that is. Table classes every leaf of every spec, and Policies makes of it the
// ValidatingAdmissionPolicies that hold such changes to a verb, so that a field can't be loosened because somebody forgot it.
//
// It is pure: no client, no clock, no files. Beside api/v1alpha1 it imports types of Kubernetes only.
package loosening

import "strings"

// Class says which change of a field loosens: lets something through that was not before.
type Class string

// Classes of fields.
const (
	// Neutral: no change of it lets a call through or keeps one back, opens a way into or out of the pods, or runs other code in
	// the server's container. A test in test/admission looks at what is rendered.
	Neutral Class = "neutral"
	// Revision: a change makes the server run something else, which loosens while it is Trusted.
	Revision Class = "revision"
	// WhileTrusted: rules, networks or admission plugins look at the value, so a change can lift what they hold back. It loosens
	// while the server is Trusted; before that nothing destructive passes, whatever they say.
	WhileTrusted Class = "while trusted"
	// WhileExposed: a change can open a Service that is reachable from outside of the cluster to more of the outside.
	WhileExposed Class = "while exposed"
	// Either: a change can loosen, whichever way it goes, and so can setting or removing the value.
	Either Class = "either"
	// Promise: what people promised. Making a promise restricts; changing or removing one loosens.
	Promise Class = "promise"
	// Naming: what the value names is sent to and may be reached. Naming something, or something else, loosens; naming nothing doesn't.
	Naming Class = "naming"
	// Declaration: a person's word about a name that is withheld without one.
	Declaration Class = "declaration"
	// More: a higher number loosens. MoreOr0: so does 0, which lifts the bound.
	More    Class = "more"
	MoreOr0 Class = "more, and 0 is the most"
	// MoreOrNone: a higher number loosens, and so does none, which is no bound.
	MoreOrNone Class = "more, and none is the most"
	// Later: a later time loosens, and none is the latest.
	Later Class = "later"
	// Adding: each added entry loosens. Removing: each removed entry loosens.
	Adding   Class = "adding"
	Removing Class = "removing"
)

const (
	order = " < "
	// Absent stands in an order for a value that is not there, where that is neither the strictest nor the loosest.
	Absent = "(absent)"
)

// Looser lists the values of an enum from the strictest to the loosest. An absent value counts as the default, unless Absent is
// among the values.
func Looser(values ...string) Class { return Class(strings.Join(values, order)) }

// Order gives the values of a class that Looser made, or nil for any other.
func (c Class) Order() []string {
	if values := strings.Split(string(c), order); len(values) > 1 {
		return values
	}
	return nil
}

var (
	denyAllow  = Looser("Deny", "Allow")
	strictness = Looser("Enforce", "Warn", "Off")
)
