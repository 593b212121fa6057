// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package shard cuts a registry document that is too large for one object into a root and shards, and puts it together again.
//
// A small document stays in one piece (version 1). A large one is a root (version 2), which holds all but the tools and the
// RuleSets and names each shard by its SHA-256, and up to Count shards of compressed JSON. Which shard holds a tool or a
// set depends on its name alone, so that whatever becomes of one of them changes its shard and the root. A reader takes a
// document only if every shard is the one that the root names, so that no two generations are ever mixed.
//
// Everything here is a pure function. It owns the files' names, their format and how large they may be. Like package registry,
// it must not import Kubernetes, the API or either plane.
package shard
