// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package prober_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"toolgate.dev/toolgate/controllers/polled"
	"toolgate.dev/toolgate/controllers/prober"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/registry/statekey"
)

// signed answers as a dispatcher with a key does; forge changes what is authenticated before it is.
func signed(key statekey.Key, pod string, forge func(*statekey.Answer)) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		body, _ := json.Marshal(registry.State{PodUID: pod, Revision: "r1"})
		a := statekey.Answer{Nonce: req.Header.Get(statekey.HeaderNonce), PodUID: pod, Status: http.StatusOK, ETag: `"1"`, Body: body}
		if req.Header.Get("If-None-Match") == a.ETag {
			a.Status, a.Body = http.StatusNotModified, nil
		}
		w.Header().Set("ETag", a.ETag)
		status, sent := a.Status, a.Body
		if forge != nil {
			forge(&a)
		}
		if a.Nonce != "" {
			w.Header().Set(statekey.HeaderCode, key.Code(a))
		}
		w.WriteHeader(status)
		_, _ = w.Write(sent)
	}
}

func TestOnlyTheDispatcherIsBelieved(t *testing.T) {
	key, other := statekey.Derive([32]byte{1}, "server"), statekey.Derive([32]byte{1}, "another")
	for name, tc := range map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"the dispatcher's answer":             {signed(key, "a", nil), ""},
		"an answer without a code":            {signed(key, "a", func(a *statekey.Answer) { a.Nonce = "" }), "does not prove whose it is"},
		"a code by another server's key":      {signed(other, "a", nil), "does not fit the server's key"},
		"another pod's answer, handed on":     {signed(key, "b", nil), "does not fit the server's key"},
		"an answer to another request":        {signed(key, "a", func(a *statekey.Answer) { a.Nonce = "old" }), "does not fit the server's key"},
		"a body that was changed on the way":  {signed(key, "a", func(a *statekey.Answer) { a.Body = []byte("{}") }), "does not fit the server's key"},
		"a status that was changed":           {signed(key, "a", func(a *statekey.Answer) { a.Status = 304 }), "does not fit the server's key"},
		"a tag under which something else is": {signed(key, "a", func(a *statekey.Answer) { a.ETag = `"2"` }), "does not fit the server's key"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, tc.handler)
			asked := target("a")
			asked.Key = key
			b.Watch(files, []polled.Target{asked})
			seen := b.changed()
			if (seen.State != nil) != (tc.want == "") || !strings.Contains(seen.Err, tc.want) || seen.Forged != (tc.want != "") {
				t.Errorf("state %v, forged %v: %q", seen.State != nil, seen.Forged, seen.Err)
			}
			if tc.want != "" && !strings.Contains(seen.Err, "somebody else than this pod's dispatcher answers at its admin port") {
				t.Errorf("error %q", seen.Err)
			}
		})
	}
}

// TestAPodThatPredatesKeysIsBelieved as it is, and is asked for no proof.
func TestAPodThatPredatesKeysIsBelieved(t *testing.T) {
	b := newBench(t, func(w http.ResponseWriter, req *http.Request) {
		if req.Header.Get(statekey.HeaderNonce) != "" || req.Header.Get(statekey.HeaderProof) != "" {
			http.Error(w, "asked for a proof", http.StatusBadRequest)
			return
		}
		answer(w, req, registry.State{PodUID: "a", Revision: "r1"})
	})
	b.Watch(files, []polled.Target{target("a")})
	if seen := b.changed(); seen.State == nil || seen.Err != "" || seen.Forged {
		t.Errorf("%+v", seen)
	}
}

// TestWhatWasProvenStaysKnown: somebody who takes the address over is not believed, neither a new state nor that the old one is
// still right, and the dispatcher is again once it is back.
func TestWhatWasProvenStaysKnown(t *testing.T) {
	key := statekey.Derive([32]byte{1}, "server")
	var taken atomic.Bool
	b := newBench(t, func(w http.ResponseWriter, req *http.Request) {
		if taken.Load() {
			w.WriteHeader(http.StatusNotModified) // says nothing but that all is as it was
			return
		}
		signed(key, "a", nil)(w, req)
	})
	asked := target("a")
	asked.Key = key
	b.Watch(files, []polled.Target{asked})
	if seen := b.changed(); seen.State == nil {
		t.Fatal(seen.Err)
	}
	taken.Store(true)
	b.tick(2 * prober.Interval)
	if seen := b.changed(); seen.State == nil || !seen.Forged {
		t.Errorf("%+v", seen)
	}
	taken.Store(false)
	b.tick(2 * prober.Interval)
	if seen := b.changed(); seen.State == nil || seen.Forged || seen.Err != "" {
		t.Errorf("%+v", seen)
	}
}
