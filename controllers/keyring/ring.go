// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package keyring holds what servers' keys are derived from, and makes the Secrets that carry them into pods.
//
// It owns the manager's own Secret and the life of the servers': it may create Secrets, and reads its own alone. What a key
// proves is in internal/registry/statekey, what its Secret looks like in internal/render. docs/design/0009-authentic-states.md
// says why.
package keyring

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"toolgate.dev/toolgate/internal/registry/statekey"
)

// Ring derives servers' keys. A nil Ring has none: then no pod gets a key.
type Ring struct {
	// secrets are the current one and, while it is being replaced, the one before.
	secrets [][statekey.Size]byte
}

// New makes a ring of the current secret and those before it.
func New(current [statekey.Size]byte, before ...[statekey.Size]byte) *Ring {
	return &Ring{secrets: append([][statekey.Size]byte{current}, before...)}
}

// Current is the key that new pods of a server get; the zero value without a Ring.
func (r *Ring) Current(server types.UID) statekey.Key {
	if r == nil {
		return statekey.Key{}
	}
	return statekey.Derive(r.secrets[0], string(server))
}

// Named is the key by which a pod says that it proves its answers; "" is for pods that predate keys, and gives the zero value.
// A name that no secret gives is that of a key that is gone, or of somebody else's: the current one is asked for, and the pod
// can't prove anything by it.
func (r *Ring) Named(server types.UID, name string) statekey.Key {
	if r == nil || name == "" {
		return statekey.Key{}
	}
	i := slices.IndexFunc(r.secrets, func(s [statekey.Size]byte) bool { return statekey.Derive(s, string(server)).Name() == name })
	return statekey.Derive(r.secrets[max(i, 0)], string(server))
}
