// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"toolgate.dev/toolgate/internal/dispatcher/dispatchertest"
	"toolgate.dev/toolgate/internal/dispatcher/policy"
	"toolgate.dev/toolgate/internal/dispatcher/requests"
	"toolgate.dev/toolgate/internal/registry"
)

// An answer that was encoded once is given again only while nothing that it depends on has changed.
func TestAListIsKeptAsLongAsItHolds(t *testing.T) {
	f := newFixture(t, func(d *registry.Document) { d.Policy.Gating.HideBlocked = true })
	list := func() string {
		return string(f.Do(context.Background(), &requests.Request{Call: policy.Call{Method: "tools/list"}}).Result)
	}
	first := list()
	if !strings.Contains(first, `"echo"`) || strings.Contains(first, `"remove"`) {
		t.Fatalf("listed %s", first)
	}
	if again := list(); again != first {
		t.Errorf("listed %s, then %s", first, again)
	}
	f.apply(t, func(d *registry.Document) {
		d.Policy.Gating.HideBlocked, d.Policy.Trust = true, registry.Trust{Trusted: true}
	})
	if trusted := list(); !strings.Contains(trusted, `"remove"`) {
		t.Errorf("a trusted server lists %s", trusted)
	}
	f.apply(t, func(d *registry.Document) { d.Policy.Expose.Tools = false })
	if none := list(); strings.Contains(none, `"echo"`) {
		t.Errorf("without tools it lists %s", none)
	}
	f.apply(t, nil)
	f.server.Definitions = []string{strings.Replace(dispatchertest.Echo, "Says it again.", "Says it louder.", 1)}
	if changed := list(); strings.Contains(changed, `"echo"`) {
		t.Errorf("a changed definition is listed: %s", changed)
	}
}

func BenchmarkListThousand(b *testing.B) {
	f := newFixture(b, nil)
	f.server.Definitions = nil
	for i := range 1000 {
		f.server.Definitions = append(f.server.Definitions, strings.Replace(dispatchertest.Echo, `"echo"`, fmt.Sprintf(`"tool%04d"`, i), 1))
	}
	f.server.Cached = f.server.Catalogue()
	f.apply(b, nil)
	request := func() *requests.Request {
		return &requests.Request{Call: policy.Call{Method: "tools/list"}}
	}
	if !bytes.Contains(f.Do(context.Background(), request()).Result, []byte("tool0499")) {
		b.Fatal("the first page is not whole")
	}
	b.ReportAllocs()
	for b.Loop() {
		f.Do(context.Background(), request())
	}
}
