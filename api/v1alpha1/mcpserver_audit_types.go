// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Audit says what is recorded of calls, and what happens when it can't be. A
// record of each call with its outcome, digests and sizes is always written.
type Audit struct {
	// payloads says which values go into the records beside their digests: the
	// Arguments of calls, their Results, All of both, or None. Default: None.
	// Records are log lines of at most 8 KiB: a value that does not fit is left
	// out.
	// +optional
	Payloads AuditPayloads `json:"payloads,omitempty"`
	// redact names what is left out of recorded values: names of members, at any
	// depth (case, _ and - do not count), or JSON Pointers (RFC 6901) into the
	// arguments and results, which begin with /. Example: [iban, /customer/name].
	// Members whose names hold password, passwd, passphrase, passcode, secret,
	// token, credential, authorization, bearer, cookie, apikey, sessionid,
	// connectionstring or the like (dbPassword, github_token, x-api-key; numbers
	// such as maxTokens aside) are always left out; docs/audit.md has the list.
	// Text in values is kept as it is.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.all(m, !m.startsWith('/') || !m.matches('~([^01]|$)'))",message="an entry that begins with / is a JSON Pointer, in which ~ stands as ~0 and / within a name as ~1: /accounts/0/iban, /a~1b"
	Redact []string `json:"redact,omitempty"`
	// onFailure says which calls are refused while no record can be written: Block
	// refuses every call, BlockDestructive those that count as destructive,
	// Continue none. Default: BlockDestructive. Records that were lost leave a gap
	// record when writing works again.
	// +optional
	OnFailure AuditFailure `json:"onFailure,omitempty"`
}

// AuditPayloads says which values are recorded.
// +kubebuilder:validation:Enum=None;Arguments;Results;All
type AuditPayloads string

// What may be recorded of a call's values.
const (
	// PayloadsNone records digests and sizes alone.
	PayloadsNone AuditPayloads = "None"
	// PayloadsArguments records arguments too.
	PayloadsArguments AuditPayloads = "Arguments"
	// PayloadsResults records results too.
	PayloadsResults AuditPayloads = "Results"
	// PayloadsAll records both.
	PayloadsAll AuditPayloads = "All"
)

// AuditFailure says which calls are refused while they can't be recorded.
// +kubebuilder:validation:Enum=Block;BlockDestructive;Continue
type AuditFailure string

// What happens to calls that can't be recorded.
const (
	// AuditBlock refuses all of them.
	AuditBlock AuditFailure = "Block"
	// AuditBlockDestructive refuses those that count as destructive.
	AuditBlockDestructive AuditFailure = "BlockDestructive"
	// AuditContinue refuses none.
	AuditContinue AuditFailure = "Continue"
)
