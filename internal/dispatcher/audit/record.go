// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package audit writes one record for every message of consequence, as JSON lines in which each record carries the hash of
// the one before.
//
// It owns the shape of the record, the chain, the keyed digests, and what of arguments and results is left out where a
// document asks for them. It imports nothing of the project but policy's words for stages and the document.
package audit

import (
	"encoding/json"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/policy"
)

// Outcome is how a message ended.
type Outcome string

// The outcomes. Started is written before a call that is not known to be read-only is forwarded, so that a missing end
// reads as unknown; Gap stands for records that could not be written.
const (
	Started   Outcome = "started"
	Success   Outcome = "success"
	ToolError Outcome = "tool_error"
	Rejected  Outcome = "rejected"
	Failed    Outcome = "failed"
	TimedOut  Outcome = "timeout"
	Cancelled Outcome = "cancelled"
	Unknown   Outcome = "unknown"
	// InputRequired ends one round of a request that its client continues in another. ConfirmPending is the same where a
	// person is asked to confirm a call, and stands before the answer where the client is asked meanwhile; Confirmed and
	// Declined are what became of that.
	InputRequired  Outcome = "input_required"
	ConfirmPending Outcome = "confirm_pending"
	Confirmed      Outcome = "confirmed"
	Declined       Outcome = "declined"
	Gap            Outcome = "gap"
)

// Record is one line. Sizes are in bytes, Duration in milliseconds with fractions.
type Record struct {
	Time time.Time `json:"time"`
	// Run names the process that wrote the record, by a random word of its start. Sequence counts its records from 1;
	// Previous is the hash of its line before (sha256:<hex>, empty for the first). Log sets all three.
	Run      string `json:"run"`
	Sequence uint64 `json:"seq"`
	Previous string `json:"prev,omitempty"`

	TraceID string `json:"trace_id"`
	Span    string `json:"span_id,omitempty"`
	Parent  string `json:"parent,omitempty"`
	Caller  string `json:"caller"`
	Client  string `json:"client,omitempty"`
	Server  string `json:"server"`
	Method  string `json:"method"`
	Tool    string `json:"tool,omitempty"`

	Outcome  Outcome              `json:"outcome"`
	Kind     policy.Kind          `json:"error_kind,omitempty"`
	Reason   string               `json:"reason,omitempty"`
	Rule     string               `json:"rule,omitempty"`
	Stages   []policy.StageResult `json:"stages,omitempty"`
	Audited  []string             `json:"audited,omitempty"`
	Duration float64              `json:"duration_ms,omitempty"`

	ArgumentsDigest string `json:"arguments_digest,omitempty"`
	ArgumentsBytes  int    `json:"arguments_bytes,omitempty"`
	ResultDigest    string `json:"result_digest,omitempty"`
	ResultBytes     int    `json:"result_bytes,omitempty"`
	RegistryDigest  string `json:"registry_digest,omitempty"`
	ToolDigest      string `json:"tool_digest,omitempty"`

	// Arguments and Result are there only where spec.audit.payloads asks for them, with what it redacts left out; Omitted names
	// those that were asked for and did not fit.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"`
	Omitted   []string        `json:"omitted,omitempty"`

	// StartedAs is the Sequence of the record that said that this call was started.
	StartedAs uint64 `json:"started_as,omitempty"`

	// Lost is how many records a gap stands for.
	Lost uint64 `json:"lost,omitempty"`
}
