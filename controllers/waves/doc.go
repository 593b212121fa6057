// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package waves decides whose pods a new release of Toolgate restarts, and when.
//
// A release changes the pods of every server: at least the dispatcher's image. What a person changes in a spec rolls at once; what
// the release alone changes waits for its turn: some servers of one namespace at a time (a wave), the next ones when all of
// these are available again, and nobody when one of them is not. Until then a server keeps the whole pod template that it has.
//
// Everything that this goes by is in the cluster: the template that was applied, with two digests beside it that say from
// what it was made and that nobody has touched it, and the mark of an upgrade whose end is awaited. A manager that starts
// anew therefore goes on where the last one stopped, as soon as it has looked at every server once.
//
// It owns the comparison of templates, the choice of the next wave, and the memory of what reconcilers have seen. It does no
// I/O of its own, and must not import a client.
package waves
