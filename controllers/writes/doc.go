// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package writes makes the writes of the reconcilers: children and MCPTools by server-side apply where something differs, deletes, and
// each status once, with the events that tell of it. It also says which errors of a write are a verdict on what was written.
//
// It owns whose an object is before it is written, and must not decide what is to be: that comes in. It must not import controllers.
package writes
