// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package triggers says what makes which reconciler look again, and when: what an event of an object is about, which changes of it
// are none of a reconciler's business, how long what comes in numbers is gathered, and what happens outside of the cluster's objects.
//
// It owns that nothing is missed and nothing done thousands of times over. It lists names and writes nothing, and must not import controllers.
package triggers
