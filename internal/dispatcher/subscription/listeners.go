// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"sync"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/mcp"
)

// Listeners are the open subscriptions. They are safe for concurrent use.
type Listeners struct {
	mu     sync.Mutex
	open   map[*Listener]bool
	closed bool
}

// Count is how many there are.
func (a *Listeners) Count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.open)
}

// Add opens one that the request with an id asks for. It hears of what its filter says from now on, and sends that once it
// is acknowledged. send puts a message on the client's stream, unless it waits there already; it says no when the client
// cannot keep up. After Close there are no more: the listener's Ended is closed then.
func (a *Listeners) Add(id jsonrpc.ID, filter Filter, send func(message []byte) bool) *Listener {
	l := &Listener{all: a, id: id.Clone(), filter: filter, send: send, ended: make(chan struct{})}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		close(l.ended)
		return l
	}
	if a.open == nil {
		a.open = map[*Listener]bool{}
	}
	a.open[l] = true
	return l
}

// Tell tells all who want to know that a list may have changed.
func (a *Listeners) Tell(method string) {
	for _, l := range a.list() {
		l.tell(method, nil)
	}
}

func (a *Listeners) list() []*Listener {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Collect(maps.Keys(a.open))
}

// Close ends all.
func (a *Listeners) Close() {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	for _, l := range a.list() {
		l.End()
	}
}

// Listener is one subscription. It is the handler of the connection on which its resources are subscribed to.
type Listener struct {
	all  *Listeners
	id   jsonrpc.ID
	send func(message []byte) bool

	mu      sync.Mutex
	filter  Filter
	acked   bool
	pending []told // what came before the acknowledgement was sent, each once
	over    bool
	ended   chan struct{}
}

// told is a notification that is ready to be sent.
type told struct {
	method  string
	message []byte
}

// Ended is closed when the subscription has ended.
func (l *Listener) Ended() <-chan struct{} { return l.ended }

// End ends the subscription. It may be called more than once.
func (l *Listener) End() {
	l.mu.Lock()
	over := l.over
	l.over = true
	l.mu.Unlock()
	if over {
		return
	}
	l.all.mu.Lock()
	_, open := l.all.open[l]
	delete(l.all.open, l)
	l.all.mu.Unlock()
	if open {
		close(l.ended)
	}
}

// Acknowledge sends the first message: what is listened to, with those resources that could be subscribed to.
func (l *Listener) Acknowledge(uris []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.filter.URIs, l.acked = uris, true
	params := append(l.params([]byte(`{"_meta":`)), `,"notifications":`...)
	l.put(jsonrpc.AppendNotification(nil, mcp.NotifyAcknowledged, append(l.filter.append(params), '}')))
	for _, p := range l.pending {
		// It may be of a resource that could not be subscribed to after all.
		if params, _ := jsonrpc.Member(p.message, "params"); l.wants(p.method, params) {
			l.put(p.message)
		}
	}
	l.pending = nil
}

// Result is the answer to the request, by which the subscription ends well.
func (l *Listener) Result() []byte {
	return append(l.params([]byte(`{"resultType":"complete","_meta":`)), '}')
}

// params appends the _meta that names the subscription.
func (l *Listener) params(dst []byte) []byte {
	dst = append(dst, `{"`+mcp.MetaSubscription+`":`...)
	return append(append(dst, l.id.Raw()...), '}')
}

// wants says whether the filter lets a message through.
func (l *Listener) wants(method string, params []byte) bool {
	switch method {
	case mcp.NotifyToolsChanged:
		return l.filter.Tools
	case mcp.NotifyPromptsChanged:
		return l.filter.Prompts
	case mcp.NotifyResourcesChanged:
		return l.filter.Resources
	case mcp.NotifyResourceUpdated:
		raw, _ := jsonrpc.Member(params, "uri")
		uri, _ := jsonrpc.String(raw)
		return slices.ContainsFunc(l.filter.URIs, func(whole string) bool { return upstream.PartOf(uri, whole) })
	default:
		return false
	}
}

// tell sends a notification that the filter lets through, with the name of the subscription.
func (l *Listener) tell(method string, params []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over || !l.wants(method, params) {
		return
	}
	meta, _ := jsonrpc.Member(params, "_meta")
	meta = jsonrpc.ReplaceMembers(meta, jsonrpc.Edit{Key: mcp.MetaSubscription, Raw: l.id.Raw()})
	message := jsonrpc.AppendNotification(nil, method, jsonrpc.ReplaceMembers(params, jsonrpc.Edit{Key: "_meta", Raw: meta}))
	if !l.acked {
		switch {
		case slices.ContainsFunc(l.pending, func(p told) bool { return bytes.Equal(p.message, message) }):
		case len(l.pending) < maxResources:
			l.pending = append(l.pending, told{method, message})
		default:
			go l.End()
		}
		return
	}
	l.put(message)
}

// put sends a message. A client that cannot keep up does not lose one without knowing: its subscription ends, and it asks
// anew for what it missed.
func (l *Listener) put(message []byte) {
	if !l.send(message) {
		go l.End()
	}
}

// HandleRequest refuses: the connection of a subscription declares nothing that a server could ask for.
func (l *Listener) HandleRequest(context.Context, upstream.Event) upstream.Reply {
	return upstream.Reply{Error: &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "Method not found"}}
}

// HandleNotification passes updates of resources on. Of lists the subscription hears from discovery, once.
func (l *Listener) HandleNotification(event upstream.Event) {
	if event.Method == mcp.NotifyResourceUpdated {
		l.tell(event.Method, event.Params)
	}
}
