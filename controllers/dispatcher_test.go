// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"time"

	"toolgate.dev/toolgate/controllers/prober"
	"toolgate.dev/toolgate/internal/catalog"
	"toolgate.dev/toolgate/internal/registry"
)

// fakeDispatchers answer GET /<pod UID> as dispatchers answer /state.
type fakeDispatchers struct {
	*httptest.Server
	mu      sync.Mutex
	states  map[string]registry.State
	changed chan struct{}
}

func newFakeDispatchers() *fakeDispatchers {
	f := &fakeDispatchers{states: map[string]registry.State{}, changed: make(chan struct{})}
	f.Server = httptest.NewServer(f)
	return f
}

func (f *fakeDispatchers) url(t prober.Target) string { return f.URL + "/" + t.UID }

// say changes what a pod answers; nil makes it refuse.
func (f *fakeDispatchers) say(uid string, change func(*registry.State)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if change == nil {
		delete(f.states, uid)
	} else {
		state := f.states[uid]
		change(&state)
		f.states[uid] = state
	}
	close(f.changed)
	f.changed = make(chan struct{})
}

// state is what a pod answers now, and the tag of it.
func (f *fakeDispatchers) state(uid string) (body []byte, tag string, changed chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	state, ok := f.states[uid]
	if !ok {
		return nil, "", f.changed
	}
	body, _ = json.Marshal(state)
	return body, strconv.Quote(registry.Digest(body)), f.changed
}

func (f *fakeDispatchers) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	uid := strings.Trim(req.URL.Path, "/")
	wait, _ := strconv.Atoi(req.URL.Query().Get("wait"))
	limit := time.After(time.Duration(wait) * time.Second)
	for {
		body, tag, changed := f.state(uid)
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

// definition is a tool as a server lists it.
func definition(name, more string) string {
	return fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object","properties":{"path":{"type":"string"}}}%s}`, name, more)
}

// readOnly is the annotation of a tool that the gate lets through.
const readOnly = `,"annotations":{"readOnlyHint":true}`

// catalogueOf is what a dispatcher makes of the definitions of a server.
func catalogueOf(definitions ...string) *registry.Catalogue {
	out := &registry.Catalogue{Resources: -1, Prompts: -1}
	var tools []catalog.Tool
	for _, def := range definitions {
		tool, err := catalog.ParseTool([]byte(def))
		observed := registry.ObservedTool{Name: tool.Name, Digest: tool.Digest, Definition: json.RawMessage(def)}
		if err != nil {
			observed.Error = err.Error()
		}
		out.Tools = append(out.Tools, observed)
		tools = append(tools, tool)
	}
	out.Digest = catalog.CatalogueDigest(tools)
	return out
}
