// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package mcp

// The error codes of revision 2026-07-28 (Base Protocol, Error Codes). With CodeHeaderMismatch a server says that it did
// nothing, because the headers of a request did not fit its body.
const (
	CodeHeaderMismatch     int64 = -32020
	CodeMissingCapability  int64 = -32021
	CodeUnsupportedVersion int64 = -32022
)

// The error codes of earlier revisions: for a resource that is not there (Resources), and for what needs a person at a URL
// first (MCP 2025-11-25, Elicitation).
const (
	CodeResourceNotFound       int64 = -32002
	CodeURLElicitationRequired int64 = -32042
)

// The error codes that no revision has and the official SDKs send: for a session that has ended, of which the specification
// (Transports, Session Management) gives the HTTP status alone, and for whatever else is wrong with a connection.
const (
	CodeSessionNotFound int64 = -32001
	CodeConnection      int64 = -32000
)
