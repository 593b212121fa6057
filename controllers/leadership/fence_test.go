// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package leadership

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// hands is a clock that stands still until it is set.
type hands struct{ at atomic.Int64 }

func (h *hands) now() time.Time          { return time.Unix(1000, 0).Add(time.Duration(h.at.Load())) }
func (h *hands) advance(d time.Duration) { h.at.Add(int64(d)) }

// fenced is a fence of ten seconds with such a clock.
func fenced() (*Fence, *hands) {
	f, h := NewFence(10*time.Second), &hands{}
	f.now = h.now
	return f, h
}

func TestFence(t *testing.T) {
	for name, tc := range map[string]struct {
		before func(*Fence, *hands)
		open   bool
	}{
		"nobody has been elected yet":             {func(*Fence, *hands) {}, false},
		"just elected":                            {func(f *Fence, h *hands) { f.renew(h.now()) }, true},
		"shortly before the deadline":             {func(f *Fence, h *hands) { f.renew(h.now()); h.advance(10*time.Second - 1) }, true},
		"at the deadline":                         {func(f *Fence, h *hands) { f.renew(h.now()); h.advance(10 * time.Second) }, false},
		"released":                                {func(f *Fence, h *hands) { f.renew(h.now()); f.close() }, false},
		"renewed late, but renewed":               {func(f *Fence, h *hands) { f.renew(h.now()); h.advance(time.Hour); f.renew(h.now()) }, true},
		"renewed by a reply that came too late":   {func(f *Fence, h *hands) { sent := h.now(); h.advance(time.Hour); f.renew(sent) }, false},
		"a clock that was set back is no renewal": {func(f *Fence, h *hands) { f.renew(h.now()); h.advance(-time.Hour) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			f, h := fenced()
			tc.before(f, h)
			if err := f.Check(); (err == nil) != tc.open || err != nil && !errors.Is(err, ErrFenced) {
				t.Errorf("error %v, want open: %v", err, tc.open)
			}
		})
	}
}

// TestElapsed wants the longer of both clocks: either may have stood still.
func TestElapsed(t *testing.T) {
	began := time.Now()
	later := time.Now()
	// Without its monotonic reading a time has the wall clock alone, as if the other one had stood still.
	if got := elapsed(began.Round(0), began.Round(0).Add(time.Minute)); got != time.Minute {
		t.Errorf("elapsed %v by the wall clock, want 1m", got)
	}
	if got := elapsed(began, later); got < later.Sub(began) {
		t.Errorf("elapsed %v, less than the monotonic clock's %v", got, later.Sub(began))
	}
}

func TestTransport(t *testing.T) {
	for name, tc := range map[string]struct {
		method, path string
		// passes says whether the request is sent although nobody has been elected.
		passes bool
	}{
		"reading":                        {http.MethodGet, "/api/v1/namespaces/x/configmaps", true},
		"creating":                       {http.MethodPost, "/api/v1/namespaces/x/configmaps", false},
		"updating a status":              {http.MethodPut, "/apis/toolgate.dev/v1alpha1/namespaces/x/mcpservers/y/status", false},
		"applying":                       {http.MethodPatch, "/apis/apps/v1/namespaces/x/deployments/y", false},
		"deleting":                       {http.MethodDelete, "/api/v1/namespaces/x/services/y", false},
		"telling":                        {http.MethodPost, "/apis/events.k8s.io/v1/namespaces/x/events", false},
		"asking who reads metrics":       {http.MethodPost, "/apis/authentication.k8s.io/v1/tokenreviews", true},
		"asking what that one may":       {http.MethodPost, "/apis/authorization.k8s.io/v1/subjectaccessreviews", true},
		"a name that looks like a group": {http.MethodPost, "/api/v1/namespaces/authorization.k8s.io/configmaps", false},
	} {
		t.Run(name, func(t *testing.T) {
			var arrived atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { arrived.Add(1) }))
			defer server.Close()
			f, h := fenced()
			client := &http.Client{Transport: f.Transport(http.DefaultTransport)}
			send := func() error {
				req, err := http.NewRequestWithContext(t.Context(), tc.method, server.URL+tc.path, strings.NewReader("{}"))
				if err != nil {
					t.Fatal(err)
				}
				resp, err := client.Do(req)
				if err == nil {
					_ = resp.Body.Close()
				}
				return err
			}
			if err := send(); (err == nil) != tc.passes || arrived.Load() > 0 != tc.passes {
				t.Errorf("error %v, %d requests arrived, want it to pass: %v", err, arrived.Load(), tc.passes)
			}
			f.renew(h.now())
			if err := send(); err != nil {
				t.Errorf("the leader may not: %v", err)
			}
		})
	}
}

// TestPausedWhileSending closes the fence between the check of a request and the sending of its body.
func TestPausedWhileSending(t *testing.T) {
	whole := make(chan error, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		_, err := io.ReadAll(req.Body)
		whole <- err
	}))
	defer server.Close()
	f, h := fenced()
	f.renew(h.now())
	paused := func(req *http.Request) (*http.Response, error) {
		h.advance(time.Minute)
		return http.DefaultTransport.RoundTrip(req)
	}
	client := &http.Client{Transport: f.Transport(roundTripper(paused))}
	// Longer than what a connection holds back until the request is complete.
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, strings.NewReader(strings.Repeat("x", 1<<20)))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err == nil {
		_ = resp.Body.Close()
	}
	if !errors.Is(err, ErrFenced) {
		t.Errorf("error %v, want %v", err, ErrFenced)
	}
	select {
	case err := <-whole:
		if err == nil {
			t.Error("the request arrived whole")
		}
	default: // its headers have not arrived either
	}
}

// TestARequestThatHangsIsGivenUp wants a request that nobody answers to end with the lease.
func TestARequestThatHangsIsGivenUp(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(io.Discard, req.Body)
		<-req.Context().Done()
	}))
	defer server.Close()
	f := NewFence(50 * time.Millisecond)
	f.renew(time.Now())
	client := &http.Client{Transport: f.Transport(http.DefaultTransport)}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, server.URL, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err == nil {
		_ = resp.Body.Close()
		t.Fatal("the request was answered")
	}
	if !errors.Is(err, ErrFenced) || f.Check() == nil {
		t.Errorf("error %v, and the lease is held: %v", err, f.Check() == nil)
	}
}

// TestAnswersAreReadWhole wants the answer to a write to be readable after the request has returned.
func TestAnswersAreReadWhole(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat("x", 1<<20))
	}))
	defer server.Close()
	f := NewFence(time.Hour)
	f.renew(time.Now())
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Client{Transport: f.Transport(http.DefaultTransport)}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if got, err := io.ReadAll(resp.Body); err != nil || len(got) != 1<<20 {
		t.Errorf("%d bytes, error %v", len(got), err)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (r roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return r(req) }
