// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"strings"

	"toolgate.dev/toolgate/internal/dispatcher/policy"
	"toolgate.dev/toolgate/internal/dispatcher/rest"
	"toolgate.dev/toolgate/internal/rules"
)

// words say what a stage looks at.
var words = map[policy.Stage]string{
	policy.StageParse:     "is it strict JSON?",
	policy.StageLimits:    "within the caller's limits?",
	policy.StageMethod:    "is tools/call exposed?",
	policy.StageTool:      "is the tool known?",
	policy.StagePin:       "is its definition the admitted one?",
	policy.StageState:     "is it enabled?",
	policy.StageArguments: "do the arguments fit its schema?",
	policy.StageGate:      "is it safe, or the server trusted?",
	policy.StageRules:     "do the rules allow it?",
	policy.StageConfirm:   "must a person confirm it?",
	policy.StageUpstream:  "is the server reached?",
	policy.StageOutput:    "does the result fit its schema?",
}

// Text tells an evaluation to people.
func Text(e rest.Evaluation) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s: %s\n\n", e.ToolName, headline(e))
	for _, s := range e.Stages {
		fmt.Fprintf(&out, "  %-12s  %-6s  %s\n", s.Stage, s.Verdict, words[s.Stage])
		if s.Verdict != policy.Pass {
			indent(&out, s.Rule, s.Message)
		}
	}
	if len(e.Rules) == 0 {
		return out.String()
	}
	out.WriteString("\nrules that were looked at:\n")
	for _, r := range e.Rules {
		name := strings.TrimSuffix(r.RuleSet+"/"+r.Rule, "/")
		fmt.Fprintf(&out, "  %-12s  %s, %s with priority %d%s\n", r.Outcome, name, r.Type, r.Priority, auditOnly(r))
		indent(&out, string(r.Action), r.Message)
		indent(&out, "error", r.Error)
	}
	return out.String()
}

func headline(e rest.Evaluation) string {
	switch e.Verdict {
	case rest.VerdictAllow:
		return "the call would be let through"
	case rest.VerdictConfirm:
		return "the call would wait for a person to confirm it"
	case rest.VerdictDeny:
		return fmt.Sprintf("the call would be refused (%s, %s)", e.Kind, e.Reason)
	default:
		return fmt.Sprintf("the verdict is %q, which is not known here", e.Verdict)
	}
}

func auditOnly(r rest.RuleHit) string {
	if r.Enforcement == rules.Audit {
		return ", for the record alone"
	}
	return ""
}

// indent writes a text below a line, with what it is.
func indent(out *strings.Builder, label, text string) {
	if text == "" {
		return
	}
	if label != "" {
		text = label + ": " + text
	}
	fmt.Fprintf(out, "%24s%s\n", "", strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", 24)))
}
