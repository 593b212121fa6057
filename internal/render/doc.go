// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package render owns what everything that Toolgate writes has in common: child names, labels, the field owner, owner
// references, what an absent field means, and the revision of a server. What is written is rendered in the packages below
// it: workload (the children that run a server), document (what its dispatchers enforce) and index (what people and clients
// read of a namespace).
//
// Everything here and below is a pure function: the same objects give the same bytes. It must not import a client,
// controller-runtime or controllers, and it reads no clock.
package render
