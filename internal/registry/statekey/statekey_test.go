// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package statekey_test

import (
	"crypto/hkdf"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"toolgate.dev/toolgate/internal/registry/statekey"
)

func TestDerivedAsRFC5869Says(t *testing.T) {
	secret := [statekey.Size]byte{1, 2, 3}
	want, err := hkdf.Expand(sha256.New, secret[:], "toolgate state key u1", statekey.Size)
	if err != nil {
		t.Fatal(err)
	}
	if got := statekey.Derive(secret, "u1"); got != statekey.Key(want) {
		t.Error("not what HKDF-Expand gives")
	}
	if statekey.Derive(secret, "u1") == statekey.Derive(secret, "u2") || statekey.Derive(secret, "u1") == statekey.Derive([32]byte{1}, "u1") {
		t.Error("two servers or two secrets give one key")
	}
}

func TestACodeIsForOneAnswer(t *testing.T) {
	key := statekey.Derive([32]byte{1}, "u1")
	answer := statekey.Answer{Nonce: "n", PodUID: "p", Status: 200, ETag: `"e"`, Body: []byte("{}")}
	code := key.Code(answer)
	if !statekey.Equal(code, key.Code(answer)) || statekey.Equal(code, "") {
		t.Error("the code of one answer is not one code")
	}
	for name, change := range map[string]func(*statekey.Answer){
		"another nonce":                 func(a *statekey.Answer) { a.Nonce = "m" },
		"another pod":                   func(a *statekey.Answer) { a.PodUID = "q" },
		"another status":                func(a *statekey.Answer) { a.Status = 304 },
		"another ETag":                  func(a *statekey.Answer) { a.ETag = `"f"` },
		"another body":                  func(a *statekey.Answer) { a.Body = []byte("{ }") },
		"a byte moved between fields":   func(a *statekey.Answer) { a.Nonce, a.PodUID = "np", "" },
		"a byte moved out of the body":  func(a *statekey.Answer) { a.ETag, a.Body = `"e"{`, []byte("}") },
		"an answer without any of them": func(a *statekey.Answer) { *a = statekey.Answer{} },
	} {
		other := answer
		if change(&other); key.Code(other) == code {
			t.Errorf("%s has the same code", name)
		}
	}
	if statekey.Derive([32]byte{1}, "u2").Code(answer) == code {
		t.Error("another server's key gives the same code")
	}
	if key.Proof("n") == code || key.Proof("n") == key.Proof("m") {
		t.Error("a proof is not for one nonce")
	}
}

func TestAKeyIsNeverPrinted(t *testing.T) {
	key := statekey.Derive([32]byte{1}, "u1")
	for _, verb := range []string{"%v", "%+v", "%#v", "%x", "%s", "%q", "%d"} {
		if got := fmt.Sprintf(verb, struct{ Key statekey.Key }{key}); !strings.Contains(got, "(a key)") {
			t.Errorf("%s prints %s", verb, got)
		}
	}
	if len(key.Name()) != 10 || strings.Contains(fmt.Sprintf("%x", [32]byte(key)), key.Name()) {
		t.Errorf("name %s", key.Name())
	}
}

func TestParse(t *testing.T) {
	key := statekey.Derive([32]byte{1}, "u1")
	if got, err := statekey.Parse(key[:]); err != nil || got != key || !got.Set() {
		t.Errorf("%v", err)
	}
	if _, err := statekey.Parse([]byte("short")); err == nil || !strings.Contains(err.Error(), "32 bytes, and these are 5") {
		t.Errorf("%v", err)
	}
}
