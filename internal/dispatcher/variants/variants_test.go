// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package variants

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"toolgate.dev/toolgate/internal/catalog"
	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/registry"
)

// tool is a definition: a=2 is that of a with digest 2.
func tool(t string) upstream.CatalogueTool {
	name, digest, _ := strings.Cut(t, "=")
	return upstream.CatalogueTool{Tool: catalog.Tool{Name: name, Digest: digest, Definition: []byte(`{}`)}}
}

func catalogue(tools ...string) *upstream.Catalogue {
	c := &upstream.Catalogue{Digest: strings.Join(tools, " ")}
	for _, t := range tools {
		c.Tools = append(c.Tools, tool(t))
	}
	return c
}

// rig is a memory with what it depends on.
type rig struct {
	*Memory
	t         *testing.T
	discovery *upstream.Catalogue
	now       time.Time
	changes   int
}

func newRig(t *testing.T, discovery ...string) *rig {
	r := &rig{t: t, discovery: catalogue(discovery...), now: time.Unix(1e9, 0)}
	r.Memory = New(Options{Discovery: func() *upstream.Catalogue { return r.discovery }, Changed: func() { r.changes++ }, Now: func() time.Time { return r.now }})
	return r
}

// session lists tools, and wants so many changes of the state to be told.
func (r *rig) session(changes int, tools ...string) {
	r.t.Helper()
	before := r.changes
	r.Listed(catalogue(tools...))
	if r.changes-before != changes {
		r.t.Errorf("%.100v: %d changes are told, want %d", strings.Join(tools, " "), r.changes-before, changes)
	}
}

func (r *rig) wants(tools ...string) {
	r.t.Helper()
	var got []string
	for _, t := range r.State().Tools {
		got = append(got, t.Name+"="+t.Digest)
	}
	if diff := cmp.Diff(tools, got); diff != "" {
		r.t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestWhatSessionsListAndDiscoveryDoesNot(t *testing.T) {
	r := newRig(t, "a=1", "b=1", "twice=1", "twice=2")
	r.session(0, "a=1", "b=1", "twice=1", "twice=2")
	r.session(0, "b=1") // fewer of them
	r.wants()
	r.session(1, "c=1", "b=2", "a=1")
	r.wants("b=2", "c=1")
	for range 3 {
		r.session(0, "b=2", "c=1")
		r.session(0, "a=1", "b=1")
	}
	r.session(1, "b=0")
	r.session(0, "twice=3") // of which nothing is served
	r.wants("b=0", "b=2", "c=1")
	t.Run("that discovery comes to list is told of there, and not remembered for when it stops", func(*testing.T) {
		r.discovery = catalogue("a=1", "b=2")
		r.wants("b=0", "c=1")
		r.discovery = catalogue("a=1")
		r.wants("b=0", "c=1")
	})
}

func TestBeforeDiscoveryHasReadThereIsNothingToDifferFrom(t *testing.T) {
	r := newRig(t)
	r.discovery = nil
	r.session(0, "a=1")
	r.wants()
}

func TestWhyADefinitionCannotBeServedIsKept(t *testing.T) {
	r := newRig(t, "a=1")
	bad := tool("a=2")
	bad.Err = errors.New("no schema")
	page := []byte(`[{"name":"a"}]`)
	bad.Definition = page[1:13]
	r.Listed(&upstream.Catalogue{Digest: "x", Tools: []upstream.CatalogueTool{bad}})
	copy(page, "overwritten by others")
	want := []registry.ObservedTool{{Name: "a", Digest: "2", Definition: json.RawMessage(`{"name":"a"}`), Error: "no schema"}}
	if diff := cmp.Diff(want, r.State().Tools); diff != "" {
		t.Error(diff)
	}
}

func TestForgets(t *testing.T) {
	r := newRig(t, "a=1")
	r.session(1, "a=2", "b=1")
	r.now = r.now.Add(Lasts - 1)
	r.session(0, "a=2")
	r.wants("a=2", "b=1")
	r.now = r.now.Add(1)
	r.wants("a=2")
	r.now = r.now.Add(Lasts - 2)
	r.wants("a=2")
	r.now = r.now.Add(1)
	r.wants()
	if r.size != 0 || len(r.kept) != 0 {
		t.Errorf("%d bytes of %d definitions are left", r.size, len(r.kept))
	}
}

// A definition with the time in it is another one in each session.
func TestOneToolDoesNotTakeTheRoomOfOthers(t *testing.T) {
	r := newRig(t, "a=1")
	for i := range 100 {
		r.Listed(catalogue(fmt.Sprintf("a=t%03d", i)))
	}
	r.wants("a=t000", "a=t001", "a=t002", "a=t003")
	if got := r.State().NotKept; got != 64 {
		t.Errorf("%d were not kept, want 64: 96 were, and it is told when it doubles", got)
	}
	r.session(1, "b=1")
	t.Run("what is not listed any more gives way, and is not missed meanwhile", func(t *testing.T) {
		for i := range 4 {
			r.now = r.now.Add(Lasts / 2)
			r.session(1, fmt.Sprintf("a=later%d", i), "b=1")
			if n := len(r.State().Tools); n < 3 {
				t.Errorf("%d definitions are left", n)
			}
		}
		r.wants("a=later2", "a=later3", "b=1")
		if got := r.State().NotKept; got != 0 {
			t.Errorf("%d that were not kept are still counted", got)
		}
	})
}

func TestIsBounded(t *testing.T) {
	t.Run("in number", func(t *testing.T) {
		r := newRig(t, "a=1")
		var all []string
		for i := range 10_000 {
			all = append(all, fmt.Sprintf("t%05d=1", i))
		}
		r.session(1, all...)
		r.wants(all[:registry.MaxSessionTools]...)
		if got, want := r.State().NotKept, int64(10_000-registry.MaxSessionTools); got != want {
			t.Errorf("%d were not kept, want %d", got, want)
		}
		r.session(1, all...) // twice as many by now
		r.session(0, all...)
		r.now = r.now.Add(Lasts)
		r.session(1, "late=1")
		r.wants("late=1")
	})
	t.Run("in bytes", func(t *testing.T) {
		r := newRig(t, "a=1")
		large := func(name string, size int) upstream.CatalogueTool {
			c := tool(name + "=1")
			c.Definition = []byte(strings.Repeat("x", size))
			return c
		}
		c := &upstream.Catalogue{Digest: "x"}
		c.Tools = append(c.Tools, large("huge", maxBytesEach))
		for i := range 20 {
			c.Tools = append(c.Tools, large(fmt.Sprint("t", i), maxBytesEach-100))
		}
		c.Tools = append(c.Tools, large("small", 100))
		r.Listed(c)
		r.wants("small=1", "t0=1", "t1=1", "t2=1", "t3=1")
		if r.size > registry.MaxSessionBytes {
			t.Errorf("%d bytes are kept", r.size)
		}
	})
}
