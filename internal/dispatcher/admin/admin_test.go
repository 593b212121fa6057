// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"toolgate.dev/toolgate/internal/registry"
)

// source is a state that tests change.
type source struct {
	mu    sync.Mutex
	state registry.State
	polls int
}

func (s *source) get() registry.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

func (s *source) change(f func(*registry.State)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.state)
}

func newHandler(s *source, drain func(context.Context) error) *Handler {
	return New(Config{State: s.get, Polled: func() { s.polls++ }, Metrics: http.NotFoundHandler(), Drain: drain, Log: slog.New(slog.DiscardHandler)})
}

func get(h http.Handler, path, etag string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	if etag != "" {
		r.Header.Set("If-None-Match", etag)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestStateCostsNothingWhileItStays(t *testing.T) {
	s := &source{state: registry.State{Dispatcher: "v1", Health: registry.HealthState{State: "Healthy", ResponseTimeMs: 3}}}
	h := newHandler(s, nil)
	first := get(h, "/state", "")
	var got registry.State
	if err := json.Unmarshal(first.Body.Bytes(), &got); err != nil || got.Dispatcher != "v1" || got.Health.ResponseTimeMs != 3 {
		t.Fatalf("state %s: %v", first.Body, err)
	}
	s.change(func(s *registry.State) { s.Health.ResponseTimeMs = 9 })
	if again := get(h, "/state", first.Header().Get("ETag")); again.Code != http.StatusNotModified || again.Body.Len() != 0 {
		t.Errorf("got %d with %d bytes, want 304: a probe's duration is no change", again.Code, again.Body.Len())
	}
	s.change(func(s *registry.State) { s.Health.State = "Unhealthy" })
	if again := get(h, "/state", first.Header().Get("ETag")); again.Code != http.StatusOK {
		t.Errorf("got %d, want 200 for a changed state", again.Code)
	}
	if s.polls != 3 {
		t.Errorf("%d polls were noted, want 3", s.polls)
	}
}

func TestLongPoll(t *testing.T) {
	cases := map[string]struct {
		path       string
		change     func(*registry.State) // after 5 s
		wantStatus int
		wantAfter  time.Duration
	}{
		"without a change it ends in time":          {"/state?wait=10", nil, 304, 10 * time.Second},
		"no poll is longer than the bound":          {"/state?wait=600", nil, 304, maxWait},
		"a change ends it at once":                  {"/state?wait=10", func(s *registry.State) { s.Ready = true }, 200, 5 * time.Second},
		"a change that is none does not":            {"/state?wait=10", func(s *registry.State) { s.Health.ResponseTimeMs = 7 }, 304, 10 * time.Second},
		"without wait it answers at once":           {"/state", nil, 304, 0},
		"a wait that is no number is told so":       {"/state?wait=soon", nil, 400, 0},
		"a negative wait is told so, and not taken": {"/state?wait=-1", nil, 400, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &source{}
				h := newHandler(s, nil)
				etag := get(h, "/state", "").Header().Get("ETag")
				if tc.change != nil {
					time.AfterFunc(5*time.Second, func() { s.change(tc.change); h.Changed() })
				}
				start := time.Now()
				w := get(h, tc.path, etag)
				if took := time.Since(start); w.Code != tc.wantStatus || took != tc.wantAfter {
					t.Errorf("status %d after %v, want %d after %v", w.Code, took, tc.wantStatus, tc.wantAfter)
				}
			})
		})
	}
}

func TestDrain(t *testing.T) {
	for want, err := range map[int]error{200: nil, 503: errors.New("2 calls")} {
		h := newHandler(&source{}, func(context.Context) error { return err })
		if w := get(h, "/drain", ""); w.Code != want {
			t.Errorf("drain that gave %v: %d, want %d", err, w.Code, want)
		}
	}
}

func TestAWebPageMayNotDrain(t *testing.T) {
	h := newHandler(&source{}, func(context.Context) error { t.Error("drained"); return nil })
	for name, value := range map[string]string{"Origin": "https://evil.example.com", "Sec-Fetch-Site": "cross-site"} {
		r := httptest.NewRequest(http.MethodGet, "/drain", nil)
		r.Header.Set(name, value)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != http.StatusForbidden {
			t.Errorf("with %s: %d", name, w.Code)
		}
	}
}

func TestProbes(t *testing.T) {
	ready := false
	h := Probes(func() bool { return ready })
	check := func(path string, want int) {
		t.Helper()
		if w := get(h, path, ""); w.Code != want {
			t.Errorf("%s: %d, want %d", path, w.Code, want)
		}
	}
	check("/healthz", 200)
	check("/readyz", 503)
	ready = true
	check("/readyz", 200)
}

func TestScrapersGetTheMetricsAndNothingElse(t *testing.T) {
	h := Metrics(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("toolgate_ready 1")) }))
	for path, want := range map[string]int{"/metrics": http.StatusOK, "/state": http.StatusNotFound, "/drain": http.StatusNotFound, "/": http.StatusNotFound} {
		if got := get(h, path, "").Code; got != want {
			t.Errorf("%s: %d, want %d", path, got, want)
		}
	}
}
