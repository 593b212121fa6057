// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package parking keeps calls to a server of an earlier revision alive between the rounds of a client of revision 2026-07-28:
// what the server asks meanwhile waits for the client's next request.
//
// It owns the questions of such a call and the number and time of those that wait. It decides nothing about policy, and
// never imports Kubernetes, the API, or the packages that speak to clients or servers.
package parking

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/input"
	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/jsonrpc"
)

// together is how long the first question of a round waits for others, or for the call to end without its answer: some
// servers ask for roots when they start, and answer calls without them.
const together = 50 * time.Millisecond

// maxQuestions bounds what a client is asked in one round; more wait for the next.
const maxQuestions = 16

// Rules are what a call's owner has to say about its questions. All are called from the connection's goroutines.
type Rules struct {
	// Admit gives the params in which a question reaches the client, or the error that the server gets in its place.
	Admit func(event upstream.Event) (params []byte, refusal *jsonrpc.Error)
	// Hold stops the call's time-out until release is called.
	Hold func() (release func())
	// Asked hears of each question that was let through, with its answer.
	Asked func(event upstream.Event, reply upstream.Reply, since time.Time)
	// Dropped hears of each notification: there is no stream for it.
	Dropped func(method string)
	Now     func() time.Time
}

// Call is one request to the server that outlives the client's. It is the Handler of the connection that carries it, which
// carries nothing else.
type Call struct {
	rules    Rules
	progress atomic.Pointer[func([]byte)]
	cancel   context.CancelCauseFunc
	done     chan struct{}
	reply    upstream.Reply // once done is closed
	err      error          // likewise

	mu      sync.Mutex
	last    int
	waiting []*question
	wake    chan struct{} // of room for one
}

type question struct {
	input.Question
	answer chan upstream.Reply // of room for one
}

// New gives a call that has not been made.
func New(rules Rules) *Call {
	return &Call{rules: rules, done: make(chan struct{}), wake: make(chan struct{}, 1)}
}

// Run makes the call, in a goroutine of its own. ctx bounds nothing but its values: the call ends by itself or by Cancel.
func (c *Call) Run(ctx context.Context, call func(ctx context.Context) (upstream.Reply, error)) {
	ctx, c.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	go func() {
		defer close(c.done)
		c.reply, c.err = call(ctx)
		c.cancel(nil)
	}()
}

// Cancel ends the call with a cause, and waits for it to have ended.
func (c *Call) Cancel(cause error) {
	c.cancel(cause)
	<-c.done
}

// Progress passes the server's progress on to the request of the client that is under way.
func (c *Call) Progress(params []byte) {
	if to := c.progress.Load(); to != nil {
		(*to)(params)
	}
}

// Wait waits for the end of the call, or for questions. They are nil at the end. When ctx ends first, the call is cancelled
// with its cause. Meanwhile progress goes to the function, which may be nil.
func (c *Call) Wait(ctx context.Context, progress func([]byte)) (questions []input.Question, reply upstream.Reply, err error) {
	if progress != nil {
		c.progress.Store(&progress)
		defer c.progress.Store(nil)
	}
	for {
		select {
		case <-c.done:
			return nil, c.reply, c.err
		case <-c.wake:
			if questions := c.gather(ctx); len(questions) > 0 {
				return questions, upstream.Reply{}, nil
			}
		case <-ctx.Done():
			c.Cancel(context.Cause(ctx))
			return nil, c.reply, c.err
		}
	}
}

// gather gives the questions that wait, unless the call ends first.
func (c *Call) gather(ctx context.Context) []input.Question {
	timer := time.NewTimer(together)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.done:
		return nil
	case <-ctx.Done():
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var questions []input.Question
	for _, q := range c.waiting[:min(len(c.waiting), maxQuestions)] {
		questions = append(questions, q.Question)
	}
	return questions
}

// Answer gives the server the client's answers. A question without one goes on waiting, and is asked again.
func (c *Call) Answer(answers input.Answers) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var rest []*question
	for _, q := range c.waiting {
		if result, ok := answers[q.Key]; ok {
			q.answer <- upstream.Reply{Result: result}
		} else {
			rest = append(rest, q)
		}
	}
	c.waiting = rest
	c.ring()
}

// ring wakes whoever waits while there are questions.
func (c *Call) ring() {
	if len(c.waiting) == 0 {
		return
	}
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// HandleRequest keeps a question of the server until the client has answered it.
func (c *Call) HandleRequest(ctx context.Context, event upstream.Event) upstream.Reply {
	params, refusal := c.rules.Admit(event)
	if refusal != nil {
		return upstream.Reply{Error: refusal}
	}
	defer c.rules.Hold()()
	since := c.rules.Now()
	q := c.put(event.Method, params)
	var reply upstream.Reply
	select {
	case reply = <-q.answer:
	case <-ctx.Done(): // the server no longer wants it, or has ended
		reply = c.withdraw(q)
	case <-c.done:
		reply = c.withdraw(q)
	}
	c.rules.Asked(event, reply, since)
	return reply
}

func (c *Call) put(method string, params []byte) *question {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	q := &question{Question: input.Question{Key: input.Prefix + strconv.Itoa(c.last), Method: method, Params: params},
		answer: make(chan upstream.Reply, 1)}
	c.waiting = append(c.waiting, q)
	c.ring()
	return q
}

func (c *Call) withdraw(q *question) upstream.Reply {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, other := range c.waiting {
		if other == q {
			c.waiting = append(c.waiting[:i:i], c.waiting[i+1:]...)
			break
		}
	}
	return upstream.Reply{Error: &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "The request ended before the client was asked."}}
}

// HandleNotification drops what the server says on its own: a client of revision 2026-07-28 has no stream for it here.
func (c *Call) HandleNotification(event upstream.Event) { c.rules.Dropped(event.Method) }
