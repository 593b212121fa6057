// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package leadership owns who of several managers acts: the Lease, its times, and the fence that holds back what a manager
// would still write after its lease has run out.
//
// An election alone does not: a process that was paused goes on where it was, and its election finds out only when it has
// tried to renew for the whole of the renew deadline. Meanwhile another manager leads. So every request that changes
// something is held against the time of the last renewal, in the moment in which it is sent.
//
// It knows nothing of what managers do: it imports nothing else of this module, the API neither.
package leadership
