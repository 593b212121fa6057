// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package domainmodel keeps the text that says what a server's domain is about, and answers it as an MCP resource of the
// dispatcher's own. It is read anew whenever its file changes.
//
// It owns the reading, the check and the resources of the scheme toolgate. It must not import Kubernetes, the API, or the
// packages that move messages.
package domainmodel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/registry"
)

// URI is the resource's. Its scheme is the dispatcher's own: no resource of a server has it.
const URI = "toolgate://domain-model"

const scheme = "toolgate:"

const (
	// interval is how often the file is looked at. The kubelet itself is slower.
	interval = 2 * time.Second
	// maxBytes is what a ConfigMap can hold.
	maxBytes = 1 << 20
)

// Model is the domain model of one server. It is safe for concurrent use.
type Model struct {
	// changed is called when State gives something else than before.
	changed func()
	log     *slog.Logger
	wake    chan struct{}

	mu    sync.Mutex
	of    registry.DomainModel
	text  string // as it was read last
	good  string // the last one that passed its check; it is what clients get
	state registry.DomainModelState
}

// New gives a model that is none until Use.
func New(changed func(), log *slog.Logger) *Model {
	return &Model{changed: changed, log: log, wake: make(chan struct{}, 1)}
}

// Use says what the document names as the model; the zero value is none.
func (m *Model) Use(of registry.DomainModel) {
	m.mu.Lock()
	same := m.of == of
	if !same {
		m.of, m.text, m.good, m.state = of, "", "", registry.DomainModelState{}
	}
	m.mu.Unlock()
	if !same {
		select {
		case m.wake <- struct{}{}:
		default: // it is awake already
		}
	}
}

// State is what was found when the file was last read.
func (m *Model) State() registry.DomainModelState {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state
}

// Run reads the file now and then until ctx ends.
func (m *Model) Run(ctx context.Context) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		m.Look()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-m.wake:
		}
	}
}

// Look reads the file once. A text that fails its check is told of, and the one before stays.
func (m *Model) Look() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.of.File == "" {
		return
	}
	text, err := read(m.of.File)
	state := registry.DomainModelState{}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		state.Missing = true
	case err != nil:
		state.Error = err.Error()
	default:
		if m.text == text && m.state != (registry.DomainModelState{}) && !m.state.Missing {
			return
		}
		m.text, state.Digest = text, registry.Digest([]byte(text))
		if err := Check(m.of.Format, text); err != nil {
			state.Error = err.Error()
		} else {
			m.good = text
		}
	}
	if m.state == state {
		return
	}
	m.state = state
	m.log.Info("domain model read", "digest", state.Digest, "missing", state.Missing, "err", state.Error)
	m.changed()
}

func read(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // it was only read
	data, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err == nil && len(data) > maxBytes {
		err = fmt.Errorf("the domain model is larger than %d bytes", maxBytes)
	}
	return string(data), err
}

// current is what clients get; "" while there is nothing.
func (m *Model) current() (registry.DomainModel, string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.of, m.good
}

// Offered says whether there is a model that clients can read.
func (m *Model) Offered() bool {
	_, text := m.current()
	return text != ""
}

// Own says whether a URI is the dispatcher's to answer. Schemes do not tell upper and lower case apart (RFC 3986).
func Own(uri string) bool {
	return len(uri) >= len(scheme) && strings.EqualFold(uri[:len(scheme)], scheme)
}

// Read gives the result of resources/read; false where there is no such resource.
func (m *Model) Read(uri string) ([]byte, bool) {
	of, text := m.current()
	if uri != URI || text == "" {
		return nil, false
	}
	out := append(m.begin(of, `{"contents":[`), `,"text":`...)
	return append(jsonrpc.AppendString(out, text), "}]}"...), true
}

func (m *Model) begin(of registry.DomainModel, before string) []byte {
	out := append([]byte(before), `{"uri":"`+URI+`","mimeType":`...)
	return jsonrpc.AppendString(out, mediaTypes[of.Format])
}

var mediaTypes = map[registry.ModelFormat]string{
	registry.ModelTurtle: "text/turtle", registry.ModelJSON: "application/json", registry.ModelMarkdown: "text/markdown",
}

// entry is the model in resources/list; nil where there is none.
func (m *Model) entry() []byte {
	of, text := m.current()
	if text == "" {
		return nil
	}
	return append(m.begin(of, ""), `,"name":"domain-model","title":"Domain model","description":"What this server's domain is about, as the people who run it say."}`...)
}

// Listed gives a result of resources/list or resources/templates/list (the member key) without what a server lists under the
// dispatcher's scheme, and on the first page of resources with the model. All else stays as it is, byte for byte. A nil result
// is that of a server without resources.
func (m *Model) Listed(result []byte, key string, first bool) []byte {
	if result == nil {
		result = []byte(`{"` + key + `":[]}`)
	}
	raw, _ := jsonrpc.Member(result, key)
	out, changed := []byte{'['}, false
	add := func(entry []byte) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, entry...)
	}
	if own := m.entry(); own != nil && first && key == "resources" {
		add(own)
		changed = true
	}
	if jsonrpc.IsArray(raw) {
		for entry := range jsonrpc.Elements(raw) {
			if own(entry) {
				changed = true
				continue
			}
			add(entry)
		}
	}
	if !changed {
		return result
	}
	return jsonrpc.ReplaceMembers(result, jsonrpc.Edit{Key: key, Raw: append(out, ']')})
}

func own(entry []byte) bool {
	for _, key := range []string{"uri", "uriTemplate"} {
		raw, _ := jsonrpc.Member(entry, key)
		if uri, ok := jsonrpc.String(raw); ok && Own(uri) {
			return true
		}
	}
	return false
}
