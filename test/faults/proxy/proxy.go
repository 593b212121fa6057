// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package proxy stands between a manager and a real API server: it counts what the manager asks for, and makes calls fail and
// watches lag as a plan says. It listens on loopback only and speaks plain HTTP to the manager; it knows Kubernetes' paths and
// watch streams and nothing of Toolgate.
package proxy

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// Options say what a proxy does beside counting.
type Options struct {
	// Plan says which calls fail; nil lets all through.
	Plan Plan
	// Watches says how watches are bent; nil passes them on as they are.
	Watches Watches
	// Killed is called once, when a fault of Plan has cut the proxy off.
	Killed func()
}

// Proxy serves one manager.
type Proxy struct {
	options Options
	server  *httptest.Server
	target  *url.URL
	client  *http.Client
	ctx     context.Context
	cut     context.CancelFunc
	killed  sync.Once

	mu    sync.Mutex
	calls []Call
	all   map[string]int
	last  map[string]time.Time
	seen  map[string]int
	// sent are all that change something, and when; leases are what has become of Leases.
	sent   []Sent
	leases []Renewal
}

// New starts a proxy before an API server. Stop it in the end.
func New(target *rest.Config, o Options) (*Proxy, error) {
	transport, err := rest.TransportFor(target)
	if err != nil {
		return nil, fmt.Errorf("making a transport to the API server: %w", err)
	}
	base, _, err := rest.DefaultServerUrlFor(target)
	if err != nil {
		return nil, fmt.Errorf("reading the API server's address: %w", err)
	}
	p := &Proxy{
		options: o, target: base, client: &http.Client{Transport: transport},
		all: map[string]int{}, last: map[string]time.Time{}, seen: map[string]int{},
	}
	p.ctx, p.cut = context.WithCancel(context.Background())
	p.server = httptest.NewServer(p)
	return p, nil
}

// Config is how a manager reaches the proxy. It has no limit of its own on requests.
func (p *Proxy) Config() *rest.Config {
	return &rest.Config{Host: p.server.URL, QPS: -1}
}

// Cut ends every connection and refuses all that comes: for the API server, the manager is dead.
func (p *Proxy) Cut() {
	p.cut()
}

// Stop cuts the proxy off and waits until it has ended.
func (p *Proxy) Stop() {
	p.cut()
	p.server.CloseClientConnections()
	p.server.Close()
}

// Writes are the calls so far that change something, Lease and events aside.
func (p *Proxy) Writes() []Call {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.calls)
}

// WritesIn are those of one namespace.
func (p *Proxy) WritesIn(namespace string) []Call {
	return slices.DeleteFunc(p.Writes(), func(c Call) bool { return c.Namespace != namespace })
}

// Count is how many calls of a verb there were on a resource so far, events and leases included.
func (p *Proxy) Count(verb, resource string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all[verb+" "+resource]
}

// Counts are all calls so far by verb and resource, such as "patch configmaps", events and leases included.
func (p *Proxy) Counts() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.all)
}

// LastWrite is when something was last changed in a namespace; the zero time for never. An empty namespace means any.
func (p *Proxy) LastWrite(namespace string) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last[namespace]
}

// record counts a call and says which occurrence of its key it is.
func (p *Proxy) record(c Call) Call {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all[c.Verb+" "+c.Resource]++
	if c.Mutating() && c.Resource != "leases" {
		p.sent = append(p.sent, Sent{Call: c, At: time.Now()})
	}
	if !c.Mutating() || c.aside() {
		return c
	}
	key := c.Namespace + " " + c.Key()
	p.seen[key]++
	c.Occurrence = p.seen[key]
	p.calls = append(p.calls, c)
	p.last[c.Namespace], p.last[""] = time.Now(), time.Now()
	return c
}

// denied notes that a call of the past changed nothing.
func (p *Proxy) denied(c Call) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := len(p.calls) - 1; i >= 0; i-- {
		if p.calls[i] == c {
			p.calls[i].Denied = true
			return
		}
	}
}

func (p *Proxy) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if p.ctx.Err() != nil {
		panic(http.ErrAbortHandler)
	}
	call := parse(req)
	body, ok := whole(req, call)
	if !ok {
		panic(http.ErrAbortHandler)
	}
	call.UID = about(call, body)
	call = p.record(call)
	sent := time.Now()
	fault := None
	if call.Mutating() && !call.aside() && p.options.Plan != nil {
		fault = p.options.Plan.Fault(call)
	}
	if fault == KilledBefore {
		p.kill()
	}
	if inject(w, fault, call) {
		return
	}
	// What the manager has sent is carried out although the manager goes away, as on a real network.
	ctx := p.ctx
	if !call.Mutating() {
		joined, stop := context.WithCancel(req.Context())
		defer stop()
		defer context.AfterFunc(p.ctx, stop)()
		ctx = joined
	} else {
		ctx = context.WithoutCancel(ctx)
	}
	resp, err := p.forward(ctx, req, call)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer func() { _ = resp.Body.Close() }()
	if fault == ReplyLost || fault == KilledAfter {
		_, _ = io.Copy(io.Discard, resp.Body)
		if fault == KilledAfter {
			p.kill()
		}
		panic(http.ErrAbortHandler)
	}
	if call.Mutating() {
		p.learn(call, resp.StatusCode, sent, body)
	}
	p.reply(w, resp, call)
}

// learn notes what an answer says of a call that was to change something.
func (p *Proxy) learn(call Call, status int, sent time.Time, body []byte) {
	if !call.aside() && status >= http.StatusBadRequest {
		p.denied(call)
	}
	if call.Resource == "leases" && status < http.StatusMultipleChoices {
		p.renewed(sent, body)
	}
}

// kill does not return.
func (p *Proxy) kill() {
	p.killed.Do(func() {
		p.cut()
		if p.options.Killed != nil {
			p.options.Killed()
		}
	})
	panic(http.ErrAbortHandler)
}

func (p *Proxy) forward(ctx context.Context, req *http.Request, call Call) (*http.Response, error) {
	out := req.Clone(ctx)
	out.RequestURI, out.Host = "", ""
	out.URL.Scheme, out.URL.Host = p.target.Scheme, p.target.Host
	out.Header.Del("Connection")
	if call.Verb == "watch" && p.options.Watches != nil {
		// Events are read one by one, which needs JSON.
		out.Header.Set("Accept", strings.NewReplacer("application/vnd.kubernetes.protobuf", "application/json", "application/cbor", "application/json").Replace(req.Header.Get("Accept")))
		out.Header.Del("Accept-Encoding")
	}
	return p.client.Do(out)
}

func (p *Proxy) reply(w http.ResponseWriter, resp *http.Response, call Call) {
	for name, values := range resp.Header {
		if name != "Connection" && name != "Content-Length" || call.Verb != "watch" {
			w.Header()[name] = values
		}
	}
	w.WriteHeader(resp.StatusCode)
	if call.Verb != "watch" || resp.StatusCode != http.StatusOK {
		_, _ = io.Copy(w, resp.Body)
		return
	}
	flushed := &flusher{to: w, control: http.NewResponseController(w)}
	_ = flushed.control.Flush()
	if p.options.Watches == nil {
		_, _ = io.Copy(flushed, resp.Body)
		return
	}
	p.bend(flushed, resp.Body, call)
}

// flusher sends each write on at once.
type flusher struct {
	to      io.Writer
	control *http.ResponseController
}

func (f *flusher) Write(data []byte) (int, error) {
	n, err := f.to.Write(data)
	if err == nil {
		err = f.control.Flush()
	}
	return n, err
}
