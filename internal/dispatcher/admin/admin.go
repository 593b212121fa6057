// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package admin answers what the manager, the kubelet and a scraper ask of a dispatcher: its state, its metrics, a drain,
// and the probes. Nothing here changes what is enforced.
//
// It owns the ETag, the long poll and the proof of the state. It never imports Kubernetes, the API, or the packages that move messages.
package admin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/registry/statekey"
)

// maxWait bounds a long poll.
const maxWait = 30 * time.Second

// maxNonce bounds what a request can make the dispatcher authenticate.
const maxNonce = 128

// Config is what a Handler needs.
type Config struct {
	// State is the state as of now.
	State func() registry.State
	// Polled is told of every reading of the state: the manager's sign of life. With a Key, only of those that prove to be his.
	Polled func()
	// Key proves the answers of PodUID's dispatcher; the zero value proves nothing.
	Key    statekey.Key
	PodUID string
	// Metrics answers GET /metrics.
	Metrics http.Handler
	// Drain blocks until what is in flight has ended, or ctx has.
	Drain func(ctx context.Context) error
	Log   *slog.Logger
}

// Handler answers on the admin listener. It is safe for concurrent use.
type Handler struct {
	Config
	mux *http.ServeMux

	mu      sync.Mutex
	changed chan struct{}
}

// New gives the handler.
func New(c Config) *Handler {
	h := &Handler{Config: c, mux: http.NewServeMux(), changed: make(chan struct{})}
	h.mux.HandleFunc("GET /state", h.state)
	h.mux.Handle("GET /metrics", c.Metrics)
	h.mux.HandleFunc("GET /drain", h.drain)
	return h
}

// ServeHTTP answers one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.mux.ServeHTTP(w, r) }

// Changed wakes the long polls: some part of the state may be another now.
func (h *Handler) Changed() {
	h.mu.Lock()
	defer h.mu.Unlock()
	close(h.changed)
	h.changed = make(chan struct{})
}

func (h *Handler) nextChange() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.changed
}

// state answers GET /state: 304 where If-None-Match is still right, at once or, with ?wait=<seconds>, when it no longer is.
func (h *Handler) state(w http.ResponseWriter, r *http.Request) {
	nonce := r.Header.Get(statekey.HeaderNonce)
	if len(nonce) > maxNonce {
		http.Error(w, "the nonce is too long", http.StatusBadRequest)
		return
	}
	if !h.Key.Set() || nonce != "" && statekey.Equal(r.Header.Get(statekey.HeaderProof), h.Key.Proof(nonce)) {
		h.Polled()
	}
	wait, err := waitOf(r)
	if err != nil {
		http.Error(w, "wait must be a number of seconds, at most 30", http.StatusBadRequest)
		return
	}
	known := r.Header.Get("If-None-Match")
	timeout := time.NewTimer(wait)
	defer timeout.Stop()
	for {
		next := h.nextChange() // before the state is read, so that no change is missed
		state := h.State()
		body, etag, err := encode(state)
		if err != nil {
			h.Log.Error("state not encoded", "err", err)
			http.Error(w, "the state cannot be encoded", http.StatusInternalServerError)
			return
		}
		w.Header().Set("ETag", etag)
		if known == "" || known != etag {
			w.Header().Set("Content-Type", "application/json")
			h.prove(w, statekey.Answer{Nonce: nonce, Status: http.StatusOK, ETag: etag, Body: body})
			_, _ = w.Write(body) // a manager that has gone asks again
			return
		}
		select {
		case <-next:
		case <-timeout.C:
			h.prove(w, statekey.Answer{Nonce: nonce, Status: http.StatusNotModified, ETag: etag})
			w.WriteHeader(http.StatusNotModified)
			return
		case <-r.Context().Done():
			return
		}
	}
}

// prove adds the code of an answer to whoever sent a nonce.
func (h *Handler) prove(w http.ResponseWriter, a statekey.Answer) {
	if a.PodUID = h.PodUID; h.Key.Set() && a.Nonce != "" {
		w.Header().Set(statekey.HeaderCode, h.Key.Code(a))
	}
}

func waitOf(r *http.Request) (time.Duration, error) {
	text := r.URL.Query().Get("wait")
	if text == "" {
		return 0, nil
	}
	seconds, err := strconv.ParseUint(text, 10, 16)
	return min(time.Duration(seconds)*time.Second, maxWait), err
}

// encode gives the state with an ETag over all but the probe's duration, which changes with every probe.
func encode(s registry.State) (body []byte, etag string, err error) {
	body, err = json.Marshal(s)
	if err != nil {
		return nil, "", err
	}
	s.Health.ResponseTimeMs = 0
	stable, err := json.Marshal(s)
	if err != nil {
		return nil, "", err
	}
	sum := sha256.Sum256(stable)
	return body, `"` + hex.EncodeToString(sum[:16]) + `"`, nil
}

// drain answers GET /drain when nothing is in flight any more: the kubelet's preStop hook waits for it.
func (h *Handler) drain(w http.ResponseWriter, r *http.Request) {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "none" || r.Header.Get("Origin") != "" {
		http.Error(w, "a web page may not drain a dispatcher", http.StatusForbidden)
		return
	}
	if err := h.Drain(r.Context()); err != nil {
		h.Log.Warn("drain ended before all calls had", "err", err)
		http.Error(w, "calls are still in flight: "+err.Error(), http.StatusServiceUnavailable)
		return
	}
	_, _ = w.Write([]byte("drained\n")) // the kubelet reads the status only
}
