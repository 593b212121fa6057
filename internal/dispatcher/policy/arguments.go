// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"errors"
	"fmt"

	"toolgate.dev/toolgate/internal/catalog"
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/schema"
	"toolgate.dev/toolgate/internal/schema/violation"
)

var noArguments = []byte("{}")

// arguments holds the arguments to the tool's input schema, and to the rule that no key may be read as another.
func arguments(e *Engine, f *flow) *Refusal {
	args := f.call.Arguments
	if args == nil {
		args = noArguments
	}
	f.args = args
	if !jsonrpc.IsObject(args) {
		return &Refusal{Kind: SchemaError, Reason: "InvalidArguments", Message: fmt.Sprintf(
			"The arguments of %q must be a JSON object, or absent where the tool needs none.", f.call.Tool)}
	}
	compiled, err := e.inputSchema(f.Tool)
	if err != nil {
		return &Refusal{Kind: Denied, Reason: registry.WithheldInvalid, Message: fmt.Sprintf(
			"Tool %q is withheld: its input schema cannot be checked (%v).", f.call.Tool, err)}
	}
	if f.Tool.OutputSchema != nil {
		if _, err := e.outputSchema(f.Tool); err != nil {
			// Once there is a result that can't be checked, the call has done what it does.
			return &Refusal{Kind: Denied, Reason: registry.WithheldInvalid, Message: fmt.Sprintf(
				"Tool %q is withheld: its output schema cannot be checked (%v).", f.call.Tool, err)}
		}
	}
	if err := compiled.Declared().Check(args); err != nil {
		refusal := &Refusal{Kind: SchemaError, Reason: "AmbiguousKey", Message: fmt.Sprintf("Invalid arguments for tool %q: %v", f.call.Tool, err)}
		var collision *jsonrpc.CollisionError
		if errors.As(err, &collision) {
			refusal.Path = collision.Path
		}
		return refusal
	}
	return e.conform(f, compiled, args)
}

func (e *Engine) conform(f *flow, compiled *schema.Schema, args []byte) *Refusal {
	mode := e.policy().Validation.Arguments
	if mode == registry.Off {
		return nil
	}
	violations := compiled.Validate(args)
	if len(violations) == 0 {
		if len(e.snapshot.RuleSets()) == 0 {
			return nil
		}
		// Without its defaults a rule misses keys, and a restriction that misses a key counts as a match.
		if filled, err := compiled.WithDefaults(args); err == nil {
			f.args = filled
		}
		return nil
	}
	message := fmt.Sprintf("Invalid arguments for tool %q: %s", f.call.Tool, violation.Explain(violations))
	if mode == registry.Warn {
		f.Violations, f.note = violations, message
		return nil
	}
	return &Refusal{
		Kind: SchemaError, Reason: "InvalidArguments", Path: violations[0].Path, Message: message, Violations: violations,
	}
}

func (e *Engine) inputSchema(tool catalog.Tool) (*schema.Schema, error) {
	opts := schema.Options{AssertFormats: e.policy().Validation.AssertFormats, RequireObject: true}
	return e.schemas.Get(tool.Digest, "inputSchema", tool.InputSchema, opts)
}

func (e *Engine) outputSchema(tool catalog.Tool) (*schema.Schema, error) {
	opts := schema.Options{AssertFormats: e.policy().Validation.AssertFormats}
	return e.schemas.Get(tool.Digest, "outputSchema", tool.OutputSchema, opts)
}
