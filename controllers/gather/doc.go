// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gather owns what the manager reads: what its caches keep, by what they are indexed, and the objects that decisions
// are made of. It writes nothing, and must not import controllers.
package gather
