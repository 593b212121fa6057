// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"context"
	"net/http"
	"sync"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/policy"
	"toolgate.dev/toolgate/internal/dispatcher/requests"
	"toolgate.dev/toolgate/internal/dispatcher/session"
	"toolgate.dev/toolgate/internal/dispatcher/stream"
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/mcp"
)

// channelSilence is how long a channel may be open before its first message.
const channelSilence = 30 * time.Second

// channel is one connection that carries the messages of a client both ways: HTTP+SSE of 2024-11-05, and WebSocket. It
// counts as one of its caller's sessions. When it ends, so does its session, and what is under way is cancelled.
type channel struct {
	h       *Handler
	id      string
	address string
	modern  bool // messages of revision 2026-07-28 are taken as such
	out     *stream.Stream
	leave   func()
	ctx     context.Context
	cancel  context.CancelCauseFunc
	tasks   sync.WaitGroup

	mu      sync.Mutex
	session *session.Session
	calls   map[string]context.CancelCauseFunc // modern requests under way, by the key of their id
	heard   bool                               // a message has come
	closing bool
}

// channels are the open ones by id.
type channels struct {
	mu   sync.Mutex
	byID map[string]*channel
}

func (a *channels) find(id string) *channel {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.byID[id]
}

func (a *channels) set(id string, c *channel) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.byID == nil {
		a.byID = map[string]*channel{}
	}
	a.byID[id] = c
}

func (a *channels) remove(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.byID, id)
}

func (a *channels) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.byID)
}

func (a *channels) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range a.byID {
		c.finish()
	}
}

// openChannel opens one, unless the dispatcher is not ready or the caller has sessions enough. Whoever opens it closes it.
func (h *Handler) openChannel(address, id string, out *stream.Stream) (*channel, *policy.Refusal) {
	if h.Pipeline.Document() == nil || h.sessions.Closed() {
		return nil, h.sessions.Unready()
	}
	leave, refusal := h.Pipeline.BeginSession(address)
	if refusal != nil {
		return nil, refusal
	}
	c := &channel{h: h, id: id, address: address, out: out, leave: leave, calls: map[string]context.CancelCauseFunc{}}
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	h.channels.set(id, c)
	if h.sessions.Closed() { // since it was looked at
		c.finish()
	}
	return c, nil
}

// carry writes what goes out until the channel ends or the client has gone, and closes the channel.
func (c *channel) carry(ctx context.Context, run func(ctx context.Context)) {
	silence := time.AfterFunc(channelSilence, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if !c.heard {
			c.out.Finish(nil)
		}
	})
	defer silence.Stop()
	run(ctx)
	c.h.channels.remove(c.id)
	c.mu.Lock()
	c.closing = true
	s := c.session
	c.mu.Unlock()
	c.cancel(requests.ErrGivenUp)
	if s != nil {
		s.End()
	}
	c.tasks.Wait()
	c.out.Finish(nil)
	c.leave()
}

// finish takes no more messages, and ends the channel once what is under way has been answered.
func (c *channel) finish() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing {
		return
	}
	c.closing = true
	go func() {
		c.tasks.Wait()
		c.out.Finish(nil)
	}()
}

// parse reads one message, which costs its caller whether or not it can be read.
func (c *channel) parse(data []byte) (*incoming, *policy.Refusal) {
	h := c.h
	over := h.Pipeline.Admit(c.address)
	h.Metrics.Received(len(data))
	m, err := jsonrpc.Parse(data, jsonrpc.Limits{MaxBytes: h.Pipeline.Limits().MaxRequestBytes})
	in := &incoming{Message: &m, ctx: c.ctx, address: c.address}
	in.reply = &channelReply{channel: c, quiet: err == nil && m.Kind != jsonrpc.Request}
	if err != nil {
		return in, parseRefusal(in, err)
	}
	return in, over
}

// take takes a message that was parsed. A request is carried out in a goroutine of its own, but for those that begin
// something; when take returns, it can be cancelled.
func (c *channel) take(in *incoming) {
	c.mu.Lock()
	c.heard = true
	over, s := c.closing, c.session
	if !over {
		c.tasks.Add(1)
	}
	c.mu.Unlock()
	switch in.modern = c.modern && in.Kind != jsonrpc.Response && in.MetaMember(mcp.MetaVersion) != nil; {
	case over:
	case in.modern && in.Kind == jsonrpc.Request:
		c.takeModern(in)
	case in.modern:
		defer c.tasks.Done()
		c.cancelModern(in)
		c.h.modern(in)
	case in.Kind == jsonrpc.Request && in.Method == mcp.MethodInitialize:
		defer c.tasks.Done()
		c.begin(in)
	case s == nil:
		defer c.tasks.Done()
		c.early(in)
	case in.Kind == jsonrpc.Request:
		begun := make(chan struct{})
		in.begun = sync.OnceFunc(func() { close(begun) })
		go func() {
			defer c.tasks.Done()
			defer in.begun()
			c.h.within(s, in)
		}()
		<-begun
	default:
		defer c.tasks.Done()
		c.h.within(s, in)
	}
}

// begin begins the channel's session.
func (c *channel) begin(in *incoming) {
	c.mu.Lock()
	again := c.session != nil
	c.mu.Unlock()
	if again {
		c.h.refuse(in, &policy.Refusal{Kind: policy.InvalidRequest, Stage: policy.StageParse, Reason: "InitializedAlready",
			Message: "This connection has its session already. Open another connection for another session."})
		return
	}
	s := c.h.initialize(in, c.out)
	if s == nil {
		return
	}
	s.Enter()
	c.mu.Lock()
	c.session = s
	c.mu.Unlock()
	go func() {
		defer s.Leave()
		<-s.Done() // with its connection to the server, or as the channel ends
		c.finish()
	}()
}

// early takes a message that comes before a session has begun.
func (c *channel) early(in *incoming) {
	switch {
	case in.Kind == jsonrpc.Request && in.Method == mcp.MethodPing:
		c.h.sendResult(in, []byte("{}"))
	default:
		c.h.refuse(in, &policy.Refusal{Kind: policy.InvalidRequest, Stage: policy.StageParse, Reason: "SessionMissing",
			Message: "This connection has no session yet: send initialize first."})
	}
}

// takeModern carries out a request of revision 2026-07-28, which notifications/cancelled can end, as on stdio.
func (c *channel) takeModern(in *incoming) {
	ctx, cancel := context.WithCancelCause(c.ctx)
	key := in.ID.Key()
	c.mu.Lock()
	_, used := c.calls[key]
	if !used {
		c.calls[key] = cancel
	}
	c.mu.Unlock()
	if used {
		defer c.tasks.Done()
		cancel(nil)
		c.h.refuse(in, &policy.Refusal{Kind: policy.InvalidRequest, Stage: policy.StageParse, Reason: "IDInUse", Path: "/id",
			Message: "A request with this id is still under way on this connection."})
		return
	}
	in.ctx = ctx
	go func() {
		defer c.tasks.Done()
		defer func() {
			cancel(nil)
			c.mu.Lock()
			delete(c.calls, key)
			c.mu.Unlock()
		}()
		c.h.modern(in)
	}()
}

func (c *channel) cancelModern(in *incoming) {
	id, ok := jsonrpc.ParseID(in.Param("requestId"))
	if in.Method != mcp.NotifyCancelled || !ok {
		return
	}
	c.mu.Lock()
	cancel := c.calls[id.Key()]
	c.mu.Unlock()
	if cancel != nil {
		cancel(requests.ErrGivenUp)
	}
}

// channelReply puts the answer to a message on the channel that it came on.
type channelReply struct {
	*channel
	quiet bool // nobody waits for an answer
}

func (r *channelReply) Event(message []byte) bool     { return r.out.Push(message) }
func (r *channelReply) EventOnce(message []byte) bool { return r.out.PushOnce(message) }
func (r *channelReply) Live() bool                    { return r.out.Carried() }
func (r *channelReply) Streams() bool                 { return true }
func (r *channelReply) Resumable(*stream.Store, bool) {}
func (r *channelReply) Patience() *time.Timer         { return nil }
func (r *channelReply) Withhold()                     {}
func (r *channelReply) Accepted()                     {}
func (r *channelReply) Header() http.Header           { return http.Header{} }

// Answer gives a client up that does not read what it asks for.
func (r *channelReply) Answer(_ int, message []byte) (kept bool) {
	if !r.quiet && !r.out.Answer(message) {
		r.h.Metrics.Dropped("slow_client")
		r.out.Finish(nil)
	}
	return true
}
