// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import "github.com/santhosh-tekuri/jsonschema/v6"

// Limits of a schema, checked before it is compiled (see design: the validator can't be cancelled, so these are the guard).
const (
	MaxSchemaBytes   = 256 << 10 // length of the schema's JSON text
	MaxDepth         = 64        // nesting of objects and arrays, in schemas and in instances
	MaxSubschemas    = 5000      // objects and booleans in a schema's position
	MaxRefExpansions = 10_000    // paths through the graph of $ref and of the applicators that stay on the same instance
	MaxNumberDigits  = 1000      // digits of one number, in schemas and in instances
	MaxExponent      = 400       // magnitude of a number's exponent, in schemas and in instances
)

// Options say how one schema is compiled. The zero value is what MCP asks for: formats are annotations, any root is fine.
type Options struct {
	// AssertFormats makes `format` an assertion for the formats that are known; unknown ones stay annotations.
	AssertFormats bool
	// RequireObject refuses a root that is not `type: object`: what MCP demands of every inputSchema.
	RequireObject bool

	loader         jsonschema.URLLoader // tests alone: serves the remotes of the official suite
	defaultDialect string               // tests alone: the $schema that an absent one stands for
}

// Reason is the machine-readable cause of a CompileError.
type Reason string

// Reasons why a schema does not compile.
const (
	ReasonNotJSON            Reason = "NotJSON"            // not one JSON value
	ReasonTooLarge           Reason = "TooLarge"           // over MaxSchemaBytes
	ReasonTooDeep            Reason = "TooDeep"            // over MaxDepth
	ReasonTooMany            Reason = "TooManySubschemas"  // over MaxSubschemas
	ReasonTooComplex         Reason = "TooComplex"         // over MaxRefExpansions, or a $ref that leads to itself
	ReasonNumber             Reason = "NumberOutOfRange"   // over MaxNumberDigits or MaxExponent
	ReasonNotObject          Reason = "RootNotObject"      // RequireObject, and the root is not `type: object`
	ReasonUnsupportedDialect Reason = "UnsupportedDialect" // $schema names a dialect that is not read
	ReasonExternalRef        Reason = "ExternalReference"  // a $ref leaves the schema
	ReasonDanglingRef        Reason = "DanglingReference"  // a $ref points to nothing
	ReasonPattern            Reason = "UnsupportedPattern" // a regular expression that RE2 can't run, or that is none
	ReasonInvalid            Reason = "InvalidSchema"      // the metaschema says no
	ReasonInternal           Reason = "Internal"           // the validator panicked; refused for safety
)

// CompileError says why a schema was refused. Every error of Compile is a *CompileError.
type CompileError struct {
	Path    string `json:"path"`    // RFC 6901 pointer into the schema, "" for the root
	Reason  Reason `json:"reason"`  // machine-readable
	Message string `json:"message"` // what is wrong and what would be right, without Path
}

// Error gives "at <path>: <message>".
func (e *CompileError) Error() string {
	if e.Path == "" {
		return "schema: " + e.Message
	}
	return "schema at " + e.Path + ": " + e.Message
}

// Keywords of violations that no schema has: of the text itself, and of our limits.
const (
	KeywordSyntax = "syntax" // not one JSON value
	KeywordLimit  = "limit"  // MaxDepth, MaxNumberDigits, MaxExponent, or too costly to check
)
