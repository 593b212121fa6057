// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// How much of a definition is shown in the status of an MCPTool, in bytes. The texts of the fields say it too.
const (
	MaxShownTitle       = 256
	MaxShownDescription = 4096
	MaxShownSchema      = 16384
)

// Bound cuts what comes from a server to what the CRD takes, so that no server can keep its own status from being written.
// What is cut ends with an ellipsis. Every writer of a status calls it last.
func (s *MCPServerStatus) Bound() {
	boundConditions(s.Conditions)
	cut(&s.ProtocolVersion, 64)
	cut(&s.DispatcherVersion, 128)
	s.Capabilities = first(s.Capabilities, 64)
	for i := range s.Capabilities {
		cut(&s.Capabilities[i], 128)
	}
	if s.ServerInfo != nil {
		cut(&s.ServerInfo.Name, 256)
		cut(&s.ServerInfo.Version, 256)
	}
	if s.Health != nil {
		cut(&s.Health.Message, 4096)
	}
}

// Bound cuts what comes from a server to what the CRD takes; see MCPServerStatus.Bound.
func (s *MCPToolStatus) Bound() {
	boundConditions(s.Conditions)
	for _, shown := range []*ObservedTool{s.Observed, s.Admitted} {
		if shown != nil {
			cut(&shown.Title, MaxShownTitle)
			cut(&shown.Description, MaxShownDescription)
		}
	}
	if s.Change != nil {
		cut(&s.Change.Text, 1024)
	}
	s.ContractBroken = first(s.ContractBroken, 64)
	s.ContractKept = first(s.ContractKept, 64)
}

// Bound cuts what the engines say of rules to what the CRD takes; see MCPServerStatus.Bound.
func (s *RuleSetStatus) Bound() {
	boundConditions(s.Conditions)
	s.RuleErrors = first(s.RuleErrors, 128)
	for i := range s.RuleErrors {
		cut(&s.RuleErrors[i].Rule, 63)
		cut(&s.RuleErrors[i].Field, 256)
		cut(&s.RuleErrors[i].Message, 4096)
		s.RuleErrors[i].Line, s.RuleErrors[i].Column = max(s.RuleErrors[i].Line, 0), max(s.RuleErrors[i].Column, 0)
	}
}

func boundConditions(conditions []metav1.Condition) {
	for i := range conditions {
		cut(&conditions[i].Message, 32768)
	}
}

// cut leaves at most limit characters of a string: a schema's maxLength counts characters, not bytes.
func cut(p *string, limit int) {
	if len(*p) <= limit || utf8.RuneCountInString(*p) <= limit {
		return
	}
	count := 0
	for i := range *p {
		if count++; count == limit {
			*p = (*p)[:i] + "…"
			return
		}
	}
}

func first[T any](list []T, limit int) []T {
	return list[:min(len(list), limit)]
}
