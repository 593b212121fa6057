// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package fakecluster

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"time"

	"toolgate.dev/toolgate/controllers/polled"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/registry/statekey"
)

// Dispatchers answer GET /<pod UID> as dispatchers answer /state.
type Dispatchers struct {
	*httptest.Server
	mu   sync.Mutex
	pods map[string]*said
}

// said is what one pod says. Bodies are made once for each change: thousands of pods are asked again and again.
type said struct {
	// key proves its answers; a pod without one proves nothing.
	key statekey.Key
	// state is nil for a pod that refuses.
	state   *registry.State
	body    []byte
	tag     string
	changed chan struct{}
}

// NewDispatchers starts a server of no pods; close it in the end.
func NewDispatchers() *Dispatchers {
	d := &Dispatchers{pods: map[string]*said{}}
	d.Server = httptest.NewServer(d)
	return d
}

// URLOf is where a pod answers.
func (d *Dispatchers) URLOf(t polled.Target) string { return d.URL + "/" + t.UID }

// Say changes what a pod answers; nil makes it refuse.
func (d *Dispatchers) Say(uid string, change func(*registry.State)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	pod := d.of(uid)
	if change == nil {
		pod.state, pod.body, pod.tag = nil, nil, ""
	} else {
		if pod.state == nil {
			pod.state = &registry.State{}
		}
		change(pod.state)
		body, _ := json.Marshal(pod.state)
		if bytes.Equal(body, pod.body) {
			return
		}
		pod.body, pod.tag = body, strconv.Quote(registry.Digest(body))
	}
	close(pod.changed)
	pod.changed = make(chan struct{})
}

// Prove gives a pod the key that it proves its answers with.
func (d *Dispatchers) Prove(uid string, key statekey.Key) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.of(uid).key = key
}

// code adds that of an answer to a request; a pod without a key has none.
func (d *Dispatchers) code(w http.ResponseWriter, req *http.Request, a statekey.Answer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	a.Nonce = req.Header.Get(statekey.HeaderNonce)
	if key := d.of(a.PodUID).key; key.Set() && a.Nonce != "" {
		w.Header().Set(statekey.HeaderCode, key.Code(a))
	}
}

// of is called with the lock held.
func (d *Dispatchers) of(uid string) *said {
	pod := d.pods[uid]
	if pod == nil {
		pod = &said{changed: make(chan struct{})}
		d.pods[uid] = pod
	}
	return pod
}

// State is what a pod answers now, the tag of it, and what is closed at its next change; no body for a pod that refuses.
func (d *Dispatchers) State(uid string) (body []byte, tag string, changed <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	pod := d.of(uid)
	return pod.body, pod.tag, pod.changed
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
			d.code(w, req, statekey.Answer{PodUID: uid, Status: http.StatusOK, ETag: tag, Body: body})
			_, _ = w.Write(body)
			return
		}
		select {
		case <-changed:
		case <-req.Context().Done():
			return
		case <-limit:
			d.code(w, req, statekey.Answer{PodUID: uid, Status: http.StatusNotModified, ETag: tag})
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
}
