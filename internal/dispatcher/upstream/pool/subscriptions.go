// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/mcp"
)

// unsubscribeTimeout bounds what nobody waits for.
const unsubscribeTimeout = 10 * time.Second

// subscriptions say which leases of a shared connection want to hear of which resources: the server knows one client only.
type subscriptions struct {
	mu    sync.Mutex
	byURI map[string]map[*lease]bool
}

// add notes a subscription.
func (s *subscriptions) add(uri string, l *lease) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byURI == nil {
		s.byURI = map[string]map[*lease]bool{}
	}
	if s.byURI[uri] == nil {
		s.byURI[uri] = map[*lease]bool{}
	}
	s.byURI[uri][l] = true
}

// remove forgets one, and reports whether it was the last for its resource.
func (s *subscriptions) remove(uri string, l *lease) (last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	had := s.byURI[uri][l]
	delete(s.byURI[uri], l)
	if !had || len(s.byURI[uri]) > 0 {
		return false
	}
	delete(s.byURI, uri)
	return true
}

// removeAll forgets those of a lease, and gives the resources that nobody wants any more.
func (s *subscriptions) removeAll(l *lease) (unwanted []string) {
	for _, uri := range s.all() {
		if s.remove(uri, l) {
			unwanted = append(unwanted, uri)
		}
	}
	return unwanted
}

func (s *subscriptions) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.byURI))
}

// to are the leases that hear of an update: of the resource that they subscribed to, or of a part of it (MCP 2025-11-25,
// ResourceUpdatedNotification).
func (s *subscriptions) to(updated string) []*lease {
	s.mu.Lock()
	defer s.mu.Unlock()
	leases := map[*lease]bool{}
	for uri, subscribed := range s.byURI {
		if upstream.PartOf(updated, uri) {
			maps.Copy(leases, subscribed)
		}
	}
	return slices.Collect(maps.Keys(leases))
}

// subscribe passes every subscription on, so that it is the server's to allow; nobody is unsubscribed who shares it.
func (l *lease) subscribe(ctx context.Context, conn upstream.Conn, call upstream.Call) (upstream.Reply, error) {
	raw, _ := jsonrpc.Member(call.Params, "uri")
	uri, _ := jsonrpc.String(raw)
	subs := &l.shared.subscriptions
	if call.Method == mcp.MethodUnsubscribe {
		if !subs.remove(uri, l) {
			return upstream.Reply{Result: []byte("{}")}, nil
		}
		return conn.Call(ctx, call)
	}
	subs.add(uri, l)
	reply, err := conn.Call(ctx, call)
	if err != nil || reply.Error != nil {
		subs.remove(uri, l)
	}
	return reply, err
}

// unsubscribe lets the server go on without those that a lease which has ended was the last to want.
func (l *lease) unsubscribe() {
	uris := l.shared.subscriptions.removeAll(l)
	l.shared.mu.Lock()
	conn := l.shared.conn
	l.shared.mu.Unlock()
	if len(uris) == 0 || conn == nil {
		return
	}
	l.shared.pool.background(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, unsubscribeTimeout)
		defer cancel()
		for _, uri := range uris {
			l.shared.say(ctx, conn, mcp.MethodUnsubscribe, uri)
		}
	})
}

// say makes a call about a resource on the pool's own account.
func (s *shared) say(ctx context.Context, conn upstream.Conn, method, uri string) {
	params := append(jsonrpc.AppendString([]byte(`{"uri":`), uri), '}')
	if reply, err := conn.Call(ctx, upstream.Call{Method: method, Params: params}); err != nil || reply.Error != nil {
		s.pool.log.Debug("a subscription could not be moved to another connection, or ended", "method", method, "err", err)
	}
}

// keep opens the connection again when it has ended while somebody is subscribed, subscribes there, and tells of what may
// have changed meanwhile.
func (s *shared) keep(conn upstream.Conn) {
	ctx := s.pool.ctx
	select {
	case <-conn.Done():
	case <-ctx.Done():
		return
	}
	for ctx.Err() == nil && len(s.subscriptions.all()) > 0 {
		again, err := s.get(ctx)
		if err == nil {
			s.renew(ctx, again)
			return
		}
		wait, stop := s.pool.opts.After(firstBackoff)
		select {
		case <-wait:
		case <-ctx.Done():
		}
		stop()
	}
}

func (s *shared) renew(ctx context.Context, conn upstream.Conn) {
	for _, uri := range s.subscriptions.all() {
		s.say(ctx, conn, mcp.MethodSubscribe, uri)
		s.updated(upstream.Event{Method: mcp.NotifyResourceUpdated, Params: append(jsonrpc.AppendString([]byte(`{"uri":`), uri), '}')})
	}
}

// updated passes an update on to those who subscribed.
func (s *shared) updated(event upstream.Event) {
	raw, _ := jsonrpc.Member(event.Params, "uri")
	uri, ok := jsonrpc.String(raw)
	leases := s.subscriptions.to(uri)
	if !ok || len(leases) == 0 {
		s.pool.opts.Counters.DroppedMessages.Add(1)
		return
	}
	for _, l := range leases {
		l.notify(event)
	}
}

// isListChange says whether a notification concerns everyone.
func isListChange(method string) bool { return strings.HasSuffix(method, "/list_changed") }
