// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"

	"toolgate.dev/toolgate/internal/catalog"
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/schema"
)

// CheckResult holds the result of a call to the shape that MCP gives it (CallToolResult, of any revision) and to the tool's
// output schema. What no reader could take for a result is refused always. What is merely odd, and what does not fit the
// schema, is refused with results Enforce, reported with Warn, and passed with Off. A result with isError needs to fit no
// schema, and neither does that of a tool without one.
func (e *Engine) CheckResult(tool catalog.Tool, result []byte) (*Refusal, []schema.Violation) {
	if fault := unreadable(result); fault != nil {
		return badResult(tool, "is none that MCP knows", schema.Explain(fault), fault), fault
	}
	mode := e.policy().Validation.Results
	if mode == registry.Off {
		return nil, nil
	}
	violations := odd(result)
	what := "is not as MCP has it"
	var broken error
	if tool.OutputSchema != nil && !isErrorResult(result) {
		misfits, err := e.resultViolations(tool, result)
		if len(violations) == 0 {
			what = "does not fit the tool's own output schema"
		}
		violations, broken = append(violations, misfits...), err
	}
	if mode == registry.Warn || broken == nil && len(violations) == 0 {
		return nil, violations
	}
	reason := schema.Explain(violations)
	if broken != nil {
		reason = broken.Error()
	}
	return badResult(tool, what, reason, violations), violations
}

func badResult(tool catalog.Tool, what, reason string, violations []schema.Violation) *Refusal {
	return &Refusal{
		Kind: SerializationError, Stage: StageOutput, Tool: tool.Name, Reason: "InvalidResult", Violations: violations,
		Message: fmt.Sprintf("The result of tool %q %s: %s", tool.Name, what, reason),
	}
}

// unreadable says why nobody could read a result: its content is no array of objects.
func unreadable(result []byte) []schema.Violation {
	content, ok := jsonrpc.Member(result, "content")
	if !ok {
		return nil
	}
	if !jsonrpc.IsArray(content) {
		return []schema.Violation{{Path: "/content", Keyword: "type", Message: "content is no array", Expected: "an array of content blocks"}}
	}
	i := 0
	for block := range jsonrpc.Elements(content) {
		if !jsonrpc.IsObject(block) {
			return []schema.Violation{{
				Path: fmt.Sprintf("/content/%d", i), Keyword: "type", Message: "a content block is no object", Expected: "an object with a type",
			}}
		}
		i++
	}
	return nil
}

// odd says what MCP asks of a result and readers in the field do without: content (the TypeScript SDK takes none for an
// empty array), the type of a block, and a boolean for isError.
func odd(result []byte) []schema.Violation {
	var found []schema.Violation
	content, ok := jsonrpc.Member(result, "content")
	if !ok {
		found = append(found, schema.Violation{Keyword: "required", Message: "missing content", Expected: "content, an array that may be empty"})
	}
	i := 0
	for block := range jsonrpc.Elements(content) {
		if kind, _ := jsonrpc.Member(block, "type"); !jsonrpc.IsString(kind) {
			found = append(found, schema.Violation{
				Path: fmt.Sprintf("/content/%d", i), Keyword: "required", Message: "missing type", Expected: "the type of the content block",
			})
		}
		i++
	}
	if raw, ok := jsonrpc.Member(result, "isError"); ok {
		if _, ok := jsonrpc.Bool(raw); !ok {
			found = append(found, schema.Violation{Path: "/isError", Keyword: "type", Message: "isError is no boolean", Expected: "true or false"})
		}
	}
	return found
}

func (e *Engine) resultViolations(tool catalog.Tool, result []byte) ([]schema.Violation, error) {
	opts := schema.Options{AssertFormats: e.policy().Validation.AssertFormats}
	compiled, err := e.schemas.Get(tool.Digest, "outputSchema", tool.OutputSchema, opts)
	if err != nil {
		return nil, fmt.Errorf("the output schema cannot be checked: %w", err)
	}
	content, ok := jsonrpc.Member(result, "structuredContent")
	if !ok {
		return []schema.Violation{{
			Keyword: "required", Message: "missing structuredContent",
			Expected: "structuredContent, because the tool declares an outputSchema",
		}}, nil
	}
	return compiled.Validate(content), nil
}

func isErrorResult(result []byte) bool {
	raw, ok := jsonrpc.Member(result, "isError")
	if !ok {
		return false
	}
	value, ok := jsonrpc.Bool(raw)
	return ok && value
}
