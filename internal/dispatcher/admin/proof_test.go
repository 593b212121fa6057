// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/registry/statekey"
)

func TestAnswersProveWhoseTheyAre(t *testing.T) {
	key := statekey.Derive([32]byte{1}, "server")
	s := &source{state: registry.State{PodUID: "p"}}
	h := New(Config{State: s.get, Polled: func() { s.polls++ }, Metrics: http.NotFoundHandler(), Log: slog.New(slog.DiscardHandler), Key: key, PodUID: "p"})
	ask := func(nonce, proof, etag string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, "/state", nil)
		r.Header.Set("If-None-Match", etag)
		r.Header.Set(statekey.HeaderNonce, nonce)
		r.Header.Set(statekey.HeaderProof, proof)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	first := ask("n1", key.Proof("n1"), "")
	etag := first.Header().Get("ETag")
	if want := key.Code(statekey.Answer{Nonce: "n1", PodUID: "p", Status: 200, ETag: etag, Body: first.Body.Bytes()}); first.Header().Get(statekey.HeaderCode) != want {
		t.Error("a state does not prove whose it is")
	}
	again := ask("n2", key.Proof("n2"), etag)
	if want := key.Code(statekey.Answer{Nonce: "n2", PodUID: "p", Status: 304, ETag: etag}); again.Code != 304 || again.Header().Get(statekey.HeaderCode) != want {
		t.Errorf("%d does not prove whose it is", again.Code)
	}
	if s.polls != 2 {
		t.Fatalf("%d polls of the manager, want 2", s.polls)
	}
	for name, w := range map[string]*httptest.ResponseRecorder{
		"nobody knows who": ask("n3", "", ""), "a proof of another request": ask("n3", key.Proof("n2"), ""), "no nonce": ask("", key.Proof(""), ""),
	} {
		if w.Code != 200 || s.polls != 2 {
			t.Errorf("%s: status %d, %d polls: anybody may look, and is not the manager's sign of life", name, w.Code, s.polls)
		}
	}
	if w := ask(strings.Repeat("n", maxNonce+1), "", ""); w.Code != 400 {
		t.Errorf("a nonce that is too long: %d", w.Code)
	}
}
