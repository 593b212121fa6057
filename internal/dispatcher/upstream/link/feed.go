// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/mcp"
)

const (
	// The delays before a feed that ended is opened again.
	firstFeedDelay, mostFeedDelay = time.Second, 30 * time.Second
	// farewell bounds the wait for the last words on a feed that is replaced, maxReplaced how many wait at once.
	farewell    = time.Second
	maxReplaced = 8
)

// listChanges are what a modern server tells of its lists where it says so: the capability, and its name in a filter.
var listChanges = []struct{ capability, filter string }{
	{"tools", "toolsListChanged"}, {"prompts", "promptsListChanged"}, {"resources", "resourcesListChanged"},
}

// feed keeps what a modern server tells on its own coming: one subscriptions/listen, for the changes of its lists and for
// the resources that are subscribed to (MCP 2026-07-28, Subscriptions). Where an earlier revision has resources/subscribe,
// it takes the call and widens what it listens to, so that whoever uses the connection needs to know one form only.
type feed struct {
	conn *Conn
	// replaced are those that may still be open beside the current one. They are run's own.
	replaced []*listening

	mu      sync.Mutex
	uris    []string
	version int // rises with each change of uris
	settled int // the version to which the server has said something
	current *listening
	moved   chan struct{} // closed when settled is another
	bump    chan struct{} // has room for one: uris are others
}

func newFeed(c *Conn) *feed {
	return &feed{conn: c, moved: make(chan struct{}), bump: make(chan struct{}, 1)}
}

// serve takes resources/subscribe and resources/unsubscribe on a modern connection.
func (f *feed) serve(ctx context.Context, call upstream.Call) (upstream.Reply, error) {
	raw, _ := jsonrpc.Member(call.Params, "uri")
	uri, ok := jsonrpc.String(raw)
	if !ok {
		return refuse(jsonrpc.CodeInvalidParams, call.Method+" needs uri, a string."), nil
	}
	version := f.want(uri, call.Method == mcp.MethodSubscribe)
	if call.Method == mcp.MethodUnsubscribe {
		return upstream.Reply{Result: emptyObject}, nil
	}
	if err := f.await(ctx, version); err != nil {
		f.want(uri, false)
		return upstream.Reply{}, err
	}
	f.mu.Lock()
	l := f.current
	f.mu.Unlock()
	switch {
	case l != nil && listensTo(l.agreed, uri):
		return upstream.Reply{Result: emptyObject}, nil
	case l == nil || l.agreed != nil:
		f.want(uri, false)
		return refuse(jsonrpc.CodeInvalidParams, "The server does not tell of updates of this resource."), nil
	}
	f.want(uri, false)
	return upstream.Reply{Error: l.refusal}, l.err
}

func listensTo(filter []byte, uri string) bool {
	list, _ := jsonrpc.Member(filter, "resourceSubscriptions")
	for raw := range jsonrpc.Elements(list) {
		if text, ok := jsonrpc.String(raw); ok && text == uri {
			return true
		}
	}
	return false
}

// want changes what is listened to, and gives the version to wait for.
func (f *feed) want(uri string, wanted bool) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if slices.Contains(f.uris, uri) == wanted {
		return f.version
	}
	if wanted {
		f.uris = append(slices.Clone(f.uris), uri)
	} else {
		f.uris = slices.DeleteFunc(slices.Clone(f.uris), func(u string) bool { return u == uri })
	}
	f.version++
	select {
	case f.bump <- struct{}{}:
	default:
	}
	return f.version
}

// await waits until the server has said something to a version, or to a later one.
func (f *feed) await(ctx context.Context, version int) error {
	for {
		f.mu.Lock()
		settled, moved := f.settled, f.moved
		f.mu.Unlock()
		if settled >= version {
			return nil
		}
		select {
		case <-moved:
		case <-f.conn.ctx.Done():
			return f.conn.Closed()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (f *feed) settle(version int, l *listening) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.settled, f.current = version, l
	close(f.moved)
	f.moved = make(chan struct{})
}

// filter is what is listened to now, nil for nothing.
func (f *feed) filter() (filter []byte, version int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	capabilities := f.conn.Info().Capabilities
	out := []byte{'{'}
	for _, l := range listChanges {
		offer, _ := jsonrpc.Member(capabilities, l.capability)
		raw, _ := jsonrpc.Member(offer, "listChanged")
		if offered, _ := jsonrpc.Bool(raw); offered {
			out = append(out, `"`+l.filter+`":true,`...)
		}
	}
	if len(f.uris) > 0 {
		out = append(out, `"resourceSubscriptions":[`...)
		for _, uri := range f.uris {
			out = append(jsonrpc.AppendString(out, uri), ',')
		}
		out = append(out[:len(out)-1], "],"...)
	}
	if len(out) == 1 {
		return nil, f.version
	}
	return append(out[:len(out)-1], '}'), f.version
}

// run keeps the feed open until the connection ends.
func (f *feed) run() {
	var open *listening
	for failures := 0; f.conn.ctx.Err() == nil; {
		filter, version := f.filter()
		if open != nil && (filter == nil || !f.conn.wire.Leaves(upstream.Modern)) {
			open.end() // not every server can tell two on one channel apart
			open = nil
		}
		var next *listening
		if filter != nil {
			next = f.begin(filter)
			next.wait(f.conn.opts.StartTimeout)
		}
		if open != nil {
			f.linger(open)
		}
		open = next
		f.settle(version, open)
		if open != nil && open.agreed != nil {
			f.caughtUp(failures > 0)
			failures = 0
		}
		if again := f.idle(open); again && f.conn.ctx.Err() == nil {
			f.pause(firstFeedDelay << min(failures, 8))
			open = nil
			failures++
		}
	}
	if open != nil {
		open.end()
	}
}

// linger ends a feed that another has replaced once what the server told on it before has arrived.
func (f *feed) linger(l *listening) {
	time.AfterFunc(farewell, l.cancel)
	f.replaced = append(f.replaced, l)
	if len(f.replaced) > maxReplaced {
		f.replaced[0].cancel()
		f.replaced = f.replaced[1:]
	}
}

// idle waits until something else is to be listened to, or until the feed has ended and is worth another try.
func (f *feed) idle(l *listening) (again bool) {
	var done chan struct{}
	if l != nil {
		done = l.done
	}
	for {
		select {
		case <-f.bump:
			return false
		case <-f.conn.ctx.Done():
			return false
		case <-done:
			if !l.final() {
				return true
			}
			done = nil
		}
	}
}

func (f *feed) pause(d time.Duration) {
	timer := time.NewTimer(min(d, mostFeedDelay))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-f.conn.ctx.Done():
	}
}

// caughtUp makes good for what may have been missed: since the catalogue was read first, or since the feed broke.
func (f *feed) caughtUp(broke bool) {
	c := f.conn
	tell := func(method string, params []byte) {
		c.handler.HandleNotification(upstream.Event{Method: method, Params: params})
	}
	if c.view.begun() {
		c.Outdate()
		tell(mcp.NotifyToolsChanged, nil)
	}
	if !broke {
		return
	}
	tell(mcp.NotifyPromptsChanged, nil)
	tell(mcp.NotifyResourcesChanged, nil)
	f.mu.Lock()
	uris := f.uris
	f.mu.Unlock()
	for _, uri := range uris {
		tell(mcp.NotifyResourceUpdated, append(jsonrpc.AppendString([]byte(`{"uri":`), uri), '}'))
	}
}

// listening is one subscriptions/listen.
type listening struct {
	conn   *Conn
	cancel context.CancelFunc
	acked  chan struct{} // closed with the acknowledgement
	done   chan struct{} // closed with the end

	once   sync.Once
	id     int64  // of the request, once acked is closed
	agreed []byte // the filter that the server acknowledged, once acked is closed; nil for none

	refusal *jsonrpc.Error // once done is closed
	err     error          // likewise
}

func (f *feed) begin(filter []byte) *listening {
	l := &listening{conn: f.conn, acked: make(chan struct{}), done: make(chan struct{})}
	ctx, cancel := context.WithCancel(f.conn.ctx)
	l.cancel = cancel
	params := append(append([]byte(`{"notifications":`), filter...), '}')
	go func() {
		defer close(l.done)
		defer cancel()
		reply, err := f.conn.Call(ctx, upstream.Call{Method: mcp.MethodListen, Params: params, Owner: l})
		l.refusal, l.err = reply.Error, err
	}()
	return l
}

// acknowledge takes the first message of a feed.
func (l *listening) acknowledge(id int64, filter []byte) {
	l.once.Do(func() {
		l.id, l.agreed = id, bytes.Clone(filter)
		close(l.acked)
	})
}

// wait waits until the server has said something.
func (l *listening) wait(bound time.Duration) {
	timer := time.NewTimer(bound)
	defer timer.Stop()
	select {
	case <-l.acked:
		return
	case <-timer.C:
		l.cancel()
		<-l.done
	case <-l.done:
	}
	l.acknowledge(0, nil) // too late for another
}

// final says of a feed that has ended that another try would be no other: the server has none, or nothing to tell.
func (l *listening) final() bool {
	if l.agreed != nil && empty(l.agreed) {
		return true
	}
	return l.refusal != nil && l.refusal.Code == jsonrpc.CodeMethodNotFound
}

// end ends the feed at the server, and waits for that where it is told with a message.
func (l *listening) end() {
	if l.id != 0 && !l.conn.wire.Leaves(upstream.Modern) {
		l.conn.tellCancelled(l.id)
		timer := time.NewTimer(farewell)
		defer timer.Stop()
		select {
		case <-l.done:
		case <-timer.C:
		}
	}
	l.cancel()
	<-l.done
}

// ended takes the server's word that a feed of ours is over (MCP 2026-07-28, Subscriptions, Cancellation).
func (c *Conn) ended(id jsonrpc.ID) bool {
	n, ok := id.Int()
	p := c.Pending(n)
	if !ok || p == nil || p.listening() == nil {
		return false
	}
	c.Settle(p, Answer{Reply: upstream.Reply{Result: emptyObject}})
	return true
}

// heard takes what a notification says of the feed that it came on: the call, and the params without that word. The feed's
// acknowledgement is taken whole.
func (c *Conn) heard(m *jsonrpc.Message, on *Call) (p *Call, params []byte) {
	p, params = on, bytes.Clone(m.Params)
	raw, ok := jsonrpc.Member(m.Meta(), mcp.MetaSubscription)
	if !ok {
		return p, params
	}
	if id, isID := whole(raw); isID {
		if named := c.Pending(id); named != nil {
			p = named
		}
	}
	meta := jsonrpc.ReplaceMembers(m.Meta(), jsonrpc.Edit{Key: mcp.MetaSubscription})
	if empty(meta) {
		meta = nil
	}
	return p, jsonrpc.ReplaceMembers(params, jsonrpc.Edit{Key: "_meta", Raw: meta})
}

func empty(object []byte) bool {
	for range jsonrpc.Members(object) {
		return false
	}
	return true
}
