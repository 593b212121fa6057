// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"net/http"

	"toolgate.dev/toolgate/internal/dispatcher/policy"
	"toolgate.dev/toolgate/internal/rules"
)

// evaluation is the shape of POST /api/mcp/rules/evaluate.
type evaluation struct {
	ToolName string `json:"tool_name"`
	// Verdict is allow, deny or confirm.
	Verdict string               `json:"verdict"`
	Kind    policy.Kind          `json:"kind,omitempty"`
	Reason  string               `json:"reason,omitempty"`
	Rule    string               `json:"rule,omitempty"`
	Message string               `json:"message,omitempty"`
	Stages  []policy.StageResult `json:"stages"`
	// Rules are those that were looked at; absent for callers who may not see them.
	Rules []ruleHit `json:"rules,omitempty"`
}

// ruleHit is one rule's part.
type ruleHit struct {
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

// evaluate says what would become of a call, and calls nothing.
func (h *Handler) evaluate(w http.ResponseWriter, r *http.Request) {
	call, ok := h.toolCall(w, r)
	if !ok {
		return
	}
	decision := h.Pipeline.Evaluate(call)
	body := evaluation{ToolName: call.Tool, Verdict: "allow", Stages: decision.Stages}
	if refusal := decision.Refusal; refusal != nil {
		body.Verdict = "deny"
		if refusal.Kind == policy.NeedsConfirmation {
			body.Verdict = "confirm"
		}
		body.Kind, body.Reason, body.Rule, body.Message = refusal.Kind, refusal.Reason, refusal.Rule, refusal.Message
	}
	if h.ShowRules {
		for _, hit := range decision.Rules.Trace {
			body.Rules = append(body.Rules, ruleHit{
				RuleSet: hit.Set, Rule: hit.Rule, Type: hit.Type, Enforcement: hit.Enforcement, Priority: hit.Priority,
				Action: hit.Action, Outcome: hit.Outcome, Message: hit.Message, Error: hit.Error,
			})
		}
	}
	h.write(w, http.StatusOK, body)
}
