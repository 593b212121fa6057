// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package input

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

var alice = Owner{Caller: "alice", Method: "tools/call", Name: "remove"}

func TestRedeem(t *testing.T) {
	c := &clock{time.Unix(1000, 0)}
	v := NewVault(c.Now, "")
	state := "the server's"
	want := State{Server: &state, Keys: []string{"a", "b"}, Confirmation: &Confirmation{Arguments: "x", Definition: "y", Policy: "z"}}
	seal := func() string {
		t.Helper()
		text, err := v.Seal(alice, want, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	first := seal()
	if strings.Contains(first, "server") || !strings.HasPrefix(first, Prefix) {
		t.Errorf("the state %q is open, or does not say whose it is", first)
	}
	got, err := v.Redeem(alice, first)
	if err != nil || cmp.Diff(want, got) != "" {
		t.Errorf("%v %s", err, cmp.Diff(want, got))
	}
	used, last := first, seal()
	flipped := []byte(last)
	flipped[len(flipped)-5] ^= 1
	cases := map[string]struct {
		owner Owner
		text  string
		want  error
	}{
		"once more":                  {alice, used, ErrUsed},
		"another caller":             {Owner{"bob", alice.Method, alice.Name}, last, ErrForeign},
		"another method":             {Owner{alice.Caller, "prompts/get", alice.Name}, last, ErrForeign},
		"another tool":               {Owner{alice.Caller, alice.Method, "echo"}, last, ErrForeign},
		"a bit that was flipped":     {alice, string(flipped), ErrAltered},
		"something added":            {alice, last + "-TAMPERED", ErrAltered},
		"something cut off":          {alice, last[:len(last)-3], ErrAltered},
		"no state at all":            {alice, "request_state", ErrAltered},
		"nothing":                    {alice, "", ErrAltered},
		"only the prefix":            {alice, v.prefix, ErrAltered},
		"one of another process":     {alice, must(NewVault(c.Now, "").Seal(alice, want, time.Minute)), ErrElsewhere},
		"another process's own name": {alice, Prefix + "0000000000000000/" + last[len(v.prefix):], ErrElsewhere},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := v.Redeem(tc.owner, tc.text); !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
		})
	}
	if _, err := v.Redeem(alice, last); err != nil {
		t.Errorf("whoever tried before cost its owner the state: %v", err)
	}
	late := seal()
	c.now = c.now.Add(time.Minute)
	if _, err := v.Redeem(alice, late); !errors.Is(err, ErrExpired) {
		t.Errorf("after its time: %v", err)
	}
}

func must(text string, err error) string {
	if err != nil {
		panic(err)
	}
	return text
}

// What is open is bounded for each caller and for all; what expires makes room.
func TestOpenStatesAreBounded(t *testing.T) {
	c := &clock{time.Unix(1000, 0)}
	v := NewVault(c.Now, "")
	fill := func(caller string) (sealed int) {
		for {
			if _, err := v.Seal(Owner{Caller: caller}, State{}, time.Minute); err != nil {
				if !errors.Is(err, ErrFull) {
					t.Fatal(err)
				}
				return sealed
			}
			sealed++
		}
	}
	for i := range maxOpen / maxOpenCaller {
		if got := fill(fmt.Sprint(i)); got != maxOpenCaller {
			t.Errorf("caller %d has %d open states, want %d", i, got, maxOpenCaller)
		}
	}
	if got := fill("one more"); got != 0 {
		t.Errorf("%d states over the bound", got)
	}
	c.now = c.now.Add(time.Minute)
	if got := fill("one more"); got != maxOpenCaller {
		t.Errorf("%d states after the others have expired, want %d", got, maxOpenCaller)
	}
}

func TestAStateNamesItsVault(t *testing.T) {
	state, err := NewVault(time.Now, ".replica").Seal(Owner{Caller: "a"}, State{}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if name := Issuer(state); !strings.HasSuffix(name, ".replica") || len(name) <= len(".replica") {
		t.Errorf("%q is of %q", state, name)
	}
	for _, none := range []string{"", "theirs", "other/abc.replica/x"} {
		if name := Issuer(none); name != "" {
			t.Errorf("%q is of %q", none, name)
		}
	}
}
