// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import "encoding/json"

// Type is the class of a set. A lower class never weakens the verdict of a higher one.
type Type string

// Types of sets, highest class first. Type routing is not built: a set of it does not compile, and
// denies what it governs.
const (
	TypeSafety     Type = "safety"
	TypePolicy     Type = "policy"
	TypeValidation Type = "validation"
	TypeRouting    Type = "routing"
)

// Enforcement says whether a set decides, or only reports what it would have decided.
type Enforcement string

// Enforcements. Absent means Enforce.
const (
	Enforce Enforcement = "Enforce"
	Audit   Enforcement = "Audit"
)

// Format is the language of a set's rules.
type Format string

// Formats of rules.
const (
	FormatCEL        Format = "cel"
	FormatJSONSchema Format = "jsonSchema"
)

// Action is what a rule asks for when it applies, and the verdict of Decide.
type Action string

// Actions, strictest first. ActionNone is a verdict only: no rule had anything to say.
const (
	Reject              Action = "Reject"
	RequireConfirmation Action = "RequireConfirmation"
	Warn                Action = "Warn"
	Allow               Action = "Allow"
	ActionNone          Action = ""
)

// DestructiveMatch narrows a selector by the verdict on a tool's destructiveness.
type DestructiveMatch string

// Values of DestructiveMatch.
const (
	DestructiveAny   DestructiveMatch = ""
	DestructiveTrue  DestructiveMatch = "True"
	DestructiveFalse DestructiveMatch = "False"
)

// Reach says through what a set came to a server.
type Reach string

// Values of Reach.
const (
	// ReachServer: the set selects the server, or the server names the set: Set.Tools says which tools it governs, and
	// Set.ToolScoped adds to them.
	ReachServer Reach = ""
	// ReachTools: only tools name the set: it governs Set.ToolScoped and nothing else.
	ReachTools Reach = "Tools"
)

// Set is one rule set as the registry document carries it.
type Set struct {
	Name        string        `json:"name"`
	Generation  int64         `json:"generation,omitempty"` // of the RuleSet object that it was rendered from
	Type        Type          `json:"type"`
	Priority    int           `json:"priority,omitempty"`    // higher decides first, within a class
	Enforcement Enforcement   `json:"enforcement,omitempty"` // absent: Enforce
	Format      Format        `json:"format"`
	Tools       *ToolSelector `json:"tools,omitempty"`      // absent: every tool
	Callers     *Callers      `json:"callers,omitempty"`    // absent: every caller
	Methods     []string      `json:"methods,omitempty"`    // absent: tools/call; AnyMethod for every one
	Reach       Reach         `json:"reach,omitempty"`      // absent: the whole server
	ToolScoped  []string      `json:"toolScoped,omitempty"` // tools that name the set themselves
	Rules       []Rule        `json:"rules,omitempty"`
	// Broken says why the set does not compile, or that it is missing. Such a set denies what it governs; in Audit mode
	// it only reports that it would have.
	Broken string `json:"broken,omitempty"`
}

// ToolSelector selects tools; members that are there must all agree. An empty list of names selects nothing and is refused.
type ToolSelector struct {
	Names       []string         `json:"names,omitempty"`       // true names, or globs: * is any run, ? is one character
	Destructive DestructiveMatch `json:"destructive,omitempty"` // absent: either
}

// Callers selects callers by their verified identity; members that are there must all agree. An empty list selects nobody and
// is refused. A caller without a verified identity may be any of them: rules that restrict govern it, and an Allow does not.
type Callers struct {
	Names      []string `json:"names,omitempty"`      // names, or globs
	Namespaces []string `json:"namespaces,omitempty"` // of service accounts: names, or globs
	Groups     []string `json:"groups,omitempty"`     // of which the caller is in one: names, or globs
}

// Rule is one rule of a set. Exactly one of When, Require and Schema is there, as the set's format asks.
type Rule struct {
	Name     string `json:"name"`
	Priority *int   `json:"priority,omitempty"` // absent: the set's
	Action   Action `json:"action"`
	// Message is shown when the rule applies; {args.path}, {tool.name} and other fields that CEL sees are filled in.
	Message string `json:"message,omitempty"`
	// MessageExpression is CEL that gives the message; when it fails, Message stands in.
	MessageExpression string          `json:"messageExpression,omitempty"`
	When              string          `json:"when,omitempty"`    // CEL: the rule applies when it is true
	Require           string          `json:"require,omitempty"` // CEL: the rule applies when it is not true
	Schema            json.RawMessage `json:"schema,omitempty"`  // JSON Schema: the rule applies when the arguments do not conform
}

// RuleError is one reason why a set does not compile.
type RuleError struct {
	Rule    string `json:"rule,omitempty"`   // "" for the set itself
	Field   string `json:"field"`            // JSON name of the field, for example "when"
	Line    int    `json:"line,omitempty"`   // 1-based, in the field's text; 0 where there is none
	Column  int    `json:"column,omitempty"` // 1-based
	Message string `json:"message"`
}
