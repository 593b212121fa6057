// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package mcp

// The revisions of the protocol (Versioning). They are dates, so that their order is that of their names. Up to LatestLegacy a
// connection begins with initialize; Modern carries everything in each request.
const (
	Modern       = "2026-07-28"
	LatestLegacy = "2025-11-25"
	OldestLegacy = "2024-11-05"
)

// Assumed is the revision of a client that sends no header and has no session (Transports, Protocol Version Header).
const Assumed = "2025-03-26"

// Unpublished was never published as a revision, but the TypeScript SDK takes it as the answer to initialize, and so does
// Toolgate of a server. No client is given it: one that wishes for it gets LatestLegacy, and a session whose server speaks it
// counts as one of OldestLegacy.
const Unpublished = "2024-10-07"

// Legacy are the revisions with initialize, newest first; Revisions are all. Nobody changes them.
var (
	Legacy    = []string{LatestLegacy, "2025-06-18", Assumed, OldestLegacy}
	Revisions = append([]string{Modern}, Legacy...)
)

// The revisions in which something began. They stay what they are when there are newer ones.
const (
	// SinceErrorResults is the first in which arguments that do not fit are a result with isError (SEP-1303).
	SinceErrorResults = "2025-11-25"
	// SincePriming is the first whose clients know an event without data (Transports, Sending Messages to the Server).
	SincePriming = "2025-11-25"
)
