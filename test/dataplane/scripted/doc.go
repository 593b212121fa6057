// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package scripted is an MCP server for tests of the data plane: it lists the tools that a file holds, writes down every byte
// that reaches it, and behaves as badly as it is told to. It speaks over stdio, as a child of the test binary, or over
// streamable HTTP.
//
// It reads messages with encoding/json, on purpose: it must not share the dispatcher's own reader of JSON. It imports nothing
// of ours but the generator of test data.
package scripted
