// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package index renders what people and clients read of a namespace: the ConfigMap mcp-registry, and its shards where it is
// large. It is pure, as all of render is.
package index
