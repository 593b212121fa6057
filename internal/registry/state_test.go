// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"toolgate.dev/toolgate/internal/registry"
)

// A manager reads the states of older dispatchers, and older managers those of newer ones: what sessions list is no part of them
// unless there is something to tell.
func TestStateComesBackFromItsBytes(t *testing.T) {
	plain := registry.State{Supports: registry.Supported(), PodUID: "u", Upstream: registry.UpstreamState{Phase: registry.UpstreamConnected},
		Catalogue: &registry.Catalogue{Digest: "c", Tools: []registry.ObservedTool{{Name: "a", Digest: "1", Definition: json.RawMessage(`{}`)}}}}
	told := plain
	told.Sessions = registry.SessionsState{Tools: []registry.ObservedTool{{Name: "a", Digest: "2", Definition: json.RawMessage(`{"name":"a"}`), Error: "x"}}, NotKept: 3}
	for name, want := range map[string]registry.State{"nothing of sessions": plain, "what sessions list": told} {
		t.Run(name, func(t *testing.T) {
			data, err := json.Marshal(want)
			if err != nil {
				t.Fatal(err)
			}
			var got registry.State
			if err := json.Unmarshal(data, &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if tells := strings.Contains(string(data), `"sessions"`); tells != (len(want.Sessions.Tools) > 0) {
				t.Errorf("%s", data)
			}
		})
	}
}
