// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"strconv"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/features"
	"toolgate.dev/toolgate/internal/dispatcher/policy"
	"toolgate.dev/toolgate/internal/dispatcher/requests"
	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/mcp"
)

const (
	// askTimeout bounds how long a client, or the person before it, may take to answer the server.
	askTimeout = 10 * time.Minute
	// streamTimeout is how often it is looked whether a stream reaches a client that is asked something. Where none does,
	// the request is given up.
	streamTimeout = 30 * time.Second
)

// ask is one request of the server to the client that is under way.
type ask struct {
	answer chan upstream.Reply // of room for one
}

// HandleRequest asks the client what the server asks, where policy and the client's own capabilities allow it.
func (s *Session) HandleRequest(ctx context.Context, event upstream.Event) upstream.Reply {
	owner, _ := event.Owner.(*Call)
	if owner != nil && owner.session != s {
		owner = nil
	}
	if event.Method == mcp.MethodPing {
		return upstream.Reply{Result: []byte("{}")}
	}
	caller := requests.Caller{Address: s.address, Client: s.Client.Label}
	if refusal := s.mayAsk(event); refusal != nil {
		s.all.Pipeline.RecordRefusal(caller, event.Method, refusal)
		return upstream.Reply{Error: refusal.JSONRPC(s.all.Pipeline.ServerName(), "")}
	}
	var trace *requests.Trace
	if owner != nil {
		defer owner.Deadline.Hold()()
		trace = owner.Trace
	}
	asked := s.all.Pipeline.Now()
	reply := s.ask(ctx, owner, event.Method, features.Forward(s.all.Pipeline.ServerName(), event.Method, event.Params))
	s.all.Pipeline.RecordAsk(caller, trace, event, reply, asked) //nolint:contextcheck // its parent is in the trace
	return reply
}

// HandleNotification passes on what the server says on its own.
func (s *Session) HandleNotification(event upstream.Event) {
	owner, _ := event.Owner.(*Call)
	if owner != nil && owner.session != s {
		owner = nil
	}
	message := jsonrpc.AppendNotification(nil, event.Method, event.Params)
	switch event.Method {
	case mcp.NotifyToolsChanged, mcp.NotifyPromptsChanged, mcp.NotifyResourcesChanged, mcp.NotifyResourceUpdated:
		s.tell(message) // it is no part of any one call
		return
	case mcp.NotifyLog, mcp.NotifyElicited:
	default:
		s.all.Metrics.Dropped("unknown_notification")
		return
	}
	s.deliver(owner, message)
}

// Ask asks the client something on behalf of a request of its own, on that one's stream where there is one. ctx may bound
// it; what is unbounded is bounded here.
func (c *Call) Ask(ctx context.Context, method string, params []byte) upstream.Reply {
	return c.session.ask(ctx, c, method, params)
}

// ask sends a request to the client under an id of ours and waits for its answer.
func (s *Session) ask(ctx context.Context, owner *Call, method string, params []byte) upstream.Reply {
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, askTimeout)
		defer cancel()
	}
	waiting := &ask{answer: make(chan upstream.Reply, 1)}
	id := s.beginAsk(waiting)
	defer s.endAsk(id)
	live := s.deliver(owner, jsonrpc.AppendRequest(nil, id, method, params))
	if live == nil {
		return unanswered("The client does not read its stream, so that it cannot be asked.")
	}
	look := time.NewTicker(streamTimeout)
	defer look.Stop()
	for {
		select {
		case reply := <-waiting.answer:
			return reply
		case <-look.C:
			if live() {
				continue
			}
			return unanswered("The client has no stream open on which it could be asked.")
		case <-s.ctx.Done():
			return unanswered("The client's session has ended.")
		case <-ctx.Done():
			s.deliver(owner, cancelled(id))
			return unanswered("The client did not answer in time, or the request was cancelled.")
		}
	}
}

func unanswered(message string) upstream.Reply {
	return upstream.Reply{Error: &jsonrpc.Error{Code: policy.TimeoutError.Code(), Message: message}}
}

func cancelled(id jsonrpc.ID) []byte {
	params := append([]byte(`{"requestId":`), id.Raw()...)
	params = append(params, `,"reason":"the server no longer wants the answer"}`...)
	return jsonrpc.AppendNotification(nil, mcp.NotifyCancelled, params)
}

// beginAsk gives an id that no other request of this session has. It is a string so that nobody mistakes it for one of the
// client's own.
func (s *Session) beginAsk(a *ask) jsonrpc.ID {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	id := jsonrpc.IDFromString("toolgate-" + strconv.FormatInt(s.asked, 10))
	s.asks[id.Key()] = a
	return id
}

func (s *Session) endAsk(id jsonrpc.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.asks, id.Key())
}

// Answered takes a client's answer to one of our requests; an answer to none is dropped.
func (s *Session) Answered(m *jsonrpc.Message) {
	s.mu.Lock()
	waiting := s.asks[m.ID.Key()]
	delete(s.asks, m.ID.Key())
	s.mu.Unlock()
	if waiting == nil {
		s.all.Metrics.Dropped("answer_without_request")
		return
	}
	waiting.answer <- upstream.Reply{Result: m.Result, Error: m.Error}
}

// mayAsk says why the server may not ask this: policy denies it, the client cannot do it, or nobody knows the method.
func (s *Session) mayAsk(event upstream.Event) *policy.Refusal {
	verdict, _ := features.Judge(s.all.features(), s.Client.Capabilities, event.Method, event.Params)
	if verdict == features.Allowed {
		return nil
	}
	return requests.NotAskable(event.Method)
}

// Can says whether the client declared a capability that policy left it.
func (s *Session) Can(capability string) bool {
	_, ok := jsonrpc.Member(s.Client.Capabilities, capability)
	return ok
}
