// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package keyring_test

import (
	"testing"

	"toolgate.dev/toolgate/controllers/keyring"
	"toolgate.dev/toolgate/internal/registry/statekey"
)

func TestWhoseKeyAPodHas(t *testing.T) {
	before, after := [statekey.Size]byte{1}, [statekey.Size]byte{2}
	old, ring := keyring.New(before), keyring.New(after, before)
	const server = "u1"
	for name, tc := range map[string]struct {
		ring *keyring.Ring
		key  string
		want statekey.Key
	}{
		"a pod that predates keys":             {ring, "", statekey.Key{}},
		"a pod of the current key":             {ring, ring.Current(server).Name(), statekey.Derive(after, server)},
		"a pod of the key before":              {ring, old.Current(server).Name(), statekey.Derive(before, server)},
		"a key that is gone proves nothing":    {keyring.New(after), old.Current(server).Name(), statekey.Derive(after, server)},
		"nor does a name that somebody wrote":  {ring, "0123456789", statekey.Derive(after, server)},
		"nor another server's":                 {ring, ring.Current("u2").Name(), statekey.Derive(after, server)},
		"a manager without keys asks for none": {nil, "0123456789", statekey.Key{}},
	} {
		if got := tc.ring.Named(server, tc.key); got != tc.want {
			t.Errorf("%s: another key", name)
		}
	}
	if ring.Current(server) == old.Current(server) || (*keyring.Ring)(nil).Current(server).Set() {
		t.Error("the current key is not the current secret's")
	}
}
