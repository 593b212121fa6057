// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package fakecluster

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"time"

	"toolgate.dev/toolgate/controllers/prober"
	"toolgate.dev/toolgate/internal/registry"
)

// Dispatchers answer GET /<pod UID> as dispatchers answer /state.
type Dispatchers struct {
	*httptest.Server
	mu      sync.Mutex
	states  map[string]registry.State
	changed chan struct{}
}

// NewDispatchers starts a server of no pods; close it in the end.
func NewDispatchers() *Dispatchers {
	d := &Dispatchers{states: map[string]registry.State{}, changed: make(chan struct{})}
	d.Server = httptest.NewServer(d)
	return d
}

// URLOf is where a pod answers.
func (d *Dispatchers) URLOf(t prober.Target) string { return d.URL + "/" + t.UID }

// Say changes what a pod answers; nil makes it refuse.
func (d *Dispatchers) Say(uid string, change func(*registry.State)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if change == nil {
		delete(d.states, uid)
	} else {
		state := d.states[uid]
		change(&state)
		d.states[uid] = state
	}
	close(d.changed)
	d.changed = make(chan struct{})
}

// State is what a pod answers now, the tag of it, and what is closed at the next change of any pod; no body for a pod that
// refuses.
func (d *Dispatchers) State(uid string) (body []byte, tag string, changed <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	state, ok := d.states[uid]
	if !ok {
		return nil, "", d.changed
	}
	body, _ = json.Marshal(state)
	return body, strconv.Quote(registry.Digest(body)), d.changed
}

func (d *Dispatchers) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	uid := strings.Trim(req.URL.Path, "/")
	wait, _ := strconv.Atoi(req.URL.Query().Get("wait"))
	limit := time.After(time.Duration(wait) * time.Second)
	for {
		body, tag, changed := d.State(uid)
		switch {
		case body == nil:
			http.Error(w, "no such pod", http.StatusServiceUnavailable)
			return
		case tag != req.Header.Get("If-None-Match"):
			w.Header().Set("ETag", tag)
			_, _ = w.Write(body)
			return
		}
		select {
		case <-changed:
		case <-req.Context().Done():
			return
		case <-limit:
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
}
