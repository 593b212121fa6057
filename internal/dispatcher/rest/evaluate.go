// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"net/http"

	"toolgate.dev/toolgate/internal/dispatcher/policy"
	"toolgate.dev/toolgate/internal/rules"
)

// Evaluation is the shape of POST /api/mcp/rules/evaluate, and of `dispatcher explain --output json`.
type Evaluation struct {
	ToolName string               `json:"tool_name"`
	Verdict  Verdict              `json:"verdict"`
	Kind     policy.Kind          `json:"kind,omitempty"`
	Reason   string               `json:"reason,omitempty"`
	Rule     string               `json:"rule,omitempty"`
	Message  string               `json:"message,omitempty"`
	Stages   []policy.StageResult `json:"stages"`
	// Rules are those that were looked at; absent for callers who may not see them.
	Rules []RuleHit `json:"rules,omitempty"`
}

// Verdict is what would become of a call.
type Verdict string

// The verdicts.
const (
	VerdictAllow   Verdict = "allow"
	VerdictDeny    Verdict = "deny"
	VerdictConfirm Verdict = "confirm"
)

// RuleHit is one rule's part.
type RuleHit struct {
	RuleSet     string            `json:"rule_set"`
	Rule        string            `json:"rule,omitempty"`
	Type        rules.Type        `json:"type"`
	Enforcement rules.Enforcement `json:"enforcement"`
	Priority    int               `json:"priority"`
	Action      rules.Action      `json:"action"`
	Outcome     rules.Outcome     `json:"outcome"`
	Message     string            `json:"message,omitempty"`
	Error       string            `json:"error,omitempty"`
}

// NewEvaluation tells a decision about a call of the tool; with showRules it names every rule that was looked at.
func NewEvaluation(tool string, d policy.Decision, showRules bool) Evaluation {
	out := Evaluation{ToolName: tool, Verdict: VerdictAllow, Stages: d.Stages}
	if refusal := d.Refusal; refusal != nil {
		out.Verdict = VerdictDeny
		if refusal.Kind == policy.NeedsConfirmation {
			out.Verdict = VerdictConfirm
		}
		out.Kind, out.Reason, out.Rule, out.Message = refusal.Kind, refusal.Reason, refusal.Rule, refusal.Message
	}
	if !showRules {
		return out
	}
	for _, hit := range d.Rules.Trace {
		out.Rules = append(out.Rules, RuleHit{
			RuleSet: hit.Set, Rule: hit.Rule, Type: hit.Type, Enforcement: hit.Enforcement, Priority: hit.Priority,
			Action: hit.Action, Outcome: hit.Outcome, Message: hit.Message, Error: hit.Error,
		})
	}
	return out
}

// evaluate says what would become of a call, and calls nothing.
func (h *Handler) evaluate(w http.ResponseWriter, r *http.Request) {
	call, ok := h.toolCall(w, r)
	if !ok {
		return
	}
	h.write(w, http.StatusOK, NewEvaluation(call.Tool, h.Pipeline.Evaluate(call), h.ShowRules))
}
