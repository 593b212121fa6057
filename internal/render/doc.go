// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package render turns API objects into what Toolgate writes: apply configurations of the children of a server, the
// registry document of its dispatchers, and the index of a namespace.
//
// It owns child names, labels, the field owner, the shape of a server's pod, the command line of the dispatcher, and what
// an absent field means. Everything here is a pure function: the same objects give the same bytes. It must not import a
// client, controller-runtime or controllers, and it reads no clock.
package render
