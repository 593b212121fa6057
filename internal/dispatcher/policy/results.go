// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"

	"toolgate.dev/toolgate/internal/catalog"
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/schema/violation"
)

// CheckResult holds the result of a call to the shape that MCP gives it (CallToolResult, of any revision) and to the tool's
// output schema. What no reader could take for a result is refused always. What is merely odd, and what does not fit the
// schema, is refused with results Enforce, reported with Warn, and passed with Off. A result with isError needs to fit no
// schema, and neither does that of a tool without one.
func (e *Engine) CheckResult(tool catalog.Tool, result []byte) (*Refusal, []violation.Violation) {
	r := readResult(result)
	if fault := r.unreadable(); fault != nil {
		return badResult(tool, "is none that MCP knows", violation.Explain(fault), fault), fault
	}
	mode := e.policy().Validation.Results
	if mode == registry.Off {
		return nil, nil
	}
	violations := r.odd()
	what := "is not as MCP has it"
	var broken error
	if tool.OutputSchema != nil && !r.failed() {
		misfits, err := e.resultViolations(tool, r.structured)
		if len(violations) == 0 {
			what = "does not fit the tool's own output schema"
		}
		violations, broken = append(violations, misfits...), err
	}
	if mode == registry.Warn || broken == nil && len(violations) == 0 {
		return nil, violations
	}
	reason := violation.Explain(violations)
	if broken != nil {
		reason = broken.Error()
	}
	return badResult(tool, what, reason, violations), violations
}

// result is what is looked at of a result, nil where absent. A result may have megabytes: it is read once for its members and
// once for its blocks.
type result struct {
	content, isError, structured []byte
	misshapen                    int   // the first block that is no object; -1 if there is none
	untyped                      []int // blocks without a type: the first of them
}

var resultMembers = []string{"content", "isError", "structuredContent"}

func readResult(raw []byte) result {
	var values [3][]byte
	jsonrpc.Pick(raw, resultMembers, values[:])
	r := result{content: values[0], isError: values[1], structured: values[2], misshapen: -1}
	i := 0
	for block := range jsonrpc.Elements(r.content) {
		if r.misshapen < 0 && !jsonrpc.IsObject(block) {
			r.misshapen = i
		}
		if kind, _ := jsonrpc.Member(block, "type"); !jsonrpc.IsString(kind) && len(r.untyped) < violation.Most {
			r.untyped = append(r.untyped, i)
		}
		i++
	}
	return r
}

func badResult(tool catalog.Tool, what, reason string, violations []violation.Violation) *Refusal {
	return &Refusal{
		Kind: SerializationError, Stage: StageOutput, Tool: tool.Name, Reason: "InvalidResult", Violations: violations,
		Message: fmt.Sprintf("The result of tool %q %s: %s", tool.Name, what, reason),
	}
}

// unreadable says why nobody could read a result: its content is no array of objects.
func (r *result) unreadable() []violation.Violation {
	switch {
	case r.content == nil:
		return nil
	case !jsonrpc.IsArray(r.content):
		return []violation.Violation{{Path: "/content", Keyword: "type", Message: "content is no array", Expected: "an array of content blocks"}}
	case r.misshapen >= 0:
		return []violation.Violation{{
			Path: fmt.Sprintf("/content/%d", r.misshapen), Keyword: "type", Message: "a content block is no object", Expected: "an object with a type",
		}}
	}
	return nil
}

// odd says what MCP asks of a result and readers in the field do without: content (the TypeScript SDK takes none for an
// empty array), the type of a block, and a boolean for isError.
func (r *result) odd() []violation.Violation {
	var found []violation.Violation
	if r.content == nil {
		found = append(found, violation.Violation{Keyword: "required", Message: "missing content", Expected: "content, an array that may be empty"})
	}
	for _, i := range r.untyped {
		found = append(found, violation.Violation{
			Path: fmt.Sprintf("/content/%d", i), Keyword: "required", Message: "missing type", Expected: "the type of the content block",
		})
	}
	if _, ok := jsonrpc.Bool(r.isError); r.isError != nil && !ok {
		found = append(found, violation.Violation{Path: "/isError", Keyword: "type", Message: "isError is no boolean", Expected: "true or false"})
	}
	return found
}

// failed says whether the server says that the call failed.
func (r *result) failed() bool {
	value, ok := jsonrpc.Bool(r.isError)
	return ok && value
}

func (e *Engine) resultViolations(tool catalog.Tool, structured []byte) ([]violation.Violation, error) {
	compiled, err := e.outputSchema(tool)
	if err != nil {
		return nil, fmt.Errorf("the output schema cannot be checked: %w", err)
	}
	if structured == nil {
		return []violation.Violation{{
			Keyword: "required", Message: "missing structuredContent",
			Expected: "structuredContent, because the tool declares an outputSchema",
		}}, nil
	}
	return compiled.Validate(structured), nil
}
