// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"toolgate.dev/toolgate/internal/catalog"
	"toolgate.dev/toolgate/internal/dispatcher/features"
	"toolgate.dev/toolgate/internal/dispatcher/input"
	"toolgate.dev/toolgate/internal/dispatcher/limits"
	"toolgate.dev/toolgate/internal/dispatcher/policy"
	"toolgate.dev/toolgate/internal/dispatcher/requests"
	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/registry"
)

const (
	// roundTTL is how long a client, or the person before it, may take to continue a request.
	roundTTL = 10 * time.Minute
	// maxRounds bounds how often a server may ask before it answers.
	maxRounds = 10
)

// owner is what the states of this request belong to.
func (x *exchange) owner() input.Owner {
	c := x.Call.Caller
	return input.Owner{
		Caller: strings.Join([]string{x.Caller.Name(), c.Kind, c.Namespace, c.Name}, "|"),
		Method: x.Call.Method, Name: cmp.Or(x.Call.Tool, x.Call.Name, x.Call.URI),
	}
}

// content is the digest of the arguments, which does not depend on how they are written.
func (x *exchange) content() string {
	arguments, ok := jsonrpc.Member(x.Params, "arguments")
	if !ok {
		arguments = []byte("{}")
	}
	digest, err := catalog.Digest(arguments)
	if err != nil { // too large for a canonical form: then the bytes themselves count
		sum := sha256.Sum256(arguments)
		return "sha256:" + hex.EncodeToString(sum[:])
	}
	return digest
}

// resume opens what a request brings that continues another. It gives the call that waits for it, nil if there is none.
func (x *exchange) resume() (*parked, *policy.Refusal) {
	if !x.Client.Rounds || !requests.TakesInput(x.Call.Method) {
		return nil, nil
	}
	answers, err := input.ReadAnswers(x.Client.Responses)
	if err != nil {
		return nil, x.notTaken(requests.KeyResponses, err)
	}
	x.answers = answers
	if x.Client.State == nil {
		return nil, nil
	}
	text, _ := jsonrpc.String(x.Client.State)
	state, err := x.vault.Redeem(x.owner(), text)
	if err != nil {
		return nil, x.notTaken(requests.KeyState, err)
	}
	x.state = &state
	waiting, refusal := x.unpark(state)
	if refusal == nil {
		refusal = x.resumeConfirmation()
	}
	if refusal != nil && waiting != nil {
		waiting.end(errNotContinued)
	}
	return waiting, refusal
}

func (x *exchange) notTaken(member string, err error) *policy.Refusal {
	return &policy.Refusal{Kind: policy.InvalidParams, Stage: policy.StageMethod, Tool: x.Call.Tool, Reason: "InvalidInput", Path: "/" + member,
		Message: fmt.Sprintf("The %s of this request is not taken: %s.", member, err)}
}

// continued gives the params of a request to a server that asks in rounds: with who the client is, and with what belongs to
// the server of that which the client sent back. What a client answers without a state is as the server's own business as
// its arguments are.
func (x *exchange) continued() []byte {
	params := x.Client.Introduced(x.Params)
	answers := input.Answers{}
	for key, answer := range x.answers {
		if !strings.HasPrefix(key, input.Prefix) && (x.state == nil || slices.Contains(x.state.Keys, key)) {
			answers[key] = answer
		}
	}
	var state *string
	if x.state != nil {
		state = x.state.Server
	}
	return input.Continue(params, answers, state)
}

// rounds sends the request, and again with what the server asks for, until it answers or the client has to go on.
func (x *exchange) rounds(ctx context.Context, conn upstream.Conn) requests.Answer {
	call := upstream.Call{Method: x.Call.Method, Params: x.Params, Progress: x.Progress, Owner: x.Owner}
	if x.era == upstream.Modern {
		call.Params = x.continued()
	}
	for range maxRounds {
		answer := x.answerOf(conn.Call(ctx, call))
		if answer.Result == nil || input.TypeOf(answer.Result) != input.Required {
			return answer
		}
		round, refusal := x.read(answer.Result)
		switch {
		case refusal != nil:
			return requests.Answer{Refusal: refusal, Era: x.era}
		case x.Client.Rounds:
			return x.giveOut(answer.Result, round.Questions, input.State{Server: round.State, Keys: input.Keys(round.Questions)}, roundTTL)
		}
		answers, refusal := x.askAll(ctx, round.Questions)
		switch {
		case ctx.Err() != nil:
			return x.answerOf(upstream.Reply{}, context.Cause(ctx))
		case refusal != nil:
			return requests.Answer{Refusal: refusal, Era: x.era}
		}
		call.Params = input.Continue(x.Client.Introduced(x.Params), answers, round.State)
	}
	return requests.Answer{Era: x.era, Refusal: x.badRound(fmt.Sprintf("it asked for input more than %d times", maxRounds))}
}

// read reads what the server asks for and holds it to policy: all of it may reach the client, or nothing does.
func (x *exchange) read(result []byte) (input.Round, *policy.Refusal) {
	round, err := input.Read(result)
	if err != nil {
		return input.Round{}, x.badRound(err.Error())
	}
	if len(round.Questions) == 0 && !x.Client.Rounds {
		return input.Round{}, limits.Refuse("ServerBusy", "The server is busy and asks to be called again. Try again in some seconds.")
	}
	for i, q := range round.Questions {
		verdict, required := features.Judge(x.allowed(), x.Client.Capabilities, q.Method, q.Params)
		switch verdict {
		case features.Allowed:
			round.Questions[i].Params = features.Forward(x.ServerName(), q.Method, q.Params)
		case features.Missing:
			return input.Round{}, x.cannotAsk(q.Method, required)
		case features.Denied:
			return input.Round{}, &policy.Refusal{Kind: policy.Denied, Stage: policy.StageUpstream, Tool: x.Call.Tool, Reason: "ClientFeatureDenied",
				Message: fmt.Sprintf("The server asks for %.64q, which policy does not let it ask of clients, so its answer is not passed on.", q.Method)}
		}
	}
	return round, nil
}

func (x *exchange) badRound(why string) *policy.Refusal {
	return &policy.Refusal{Kind: policy.SerializationError, Stage: policy.StageUpstream, Tool: x.Call.Tool, Reason: "InvalidInputRequest",
		Message: "The server asks for input in a form that MCP does not have: " + why + "."}
}

// cannotAsk tells what the client lacks, in the form that its revision has for that.
func (x *exchange) cannotAsk(method string, required []byte) *policy.Refusal {
	r := &policy.Refusal{Kind: policy.Denied, Stage: policy.StageUpstream, Tool: x.Call.Tool, Reason: "ClientCannotBeAsked",
		Message: fmt.Sprintf("The server needs %s of the client, which this client does not offer.", method)}
	if x.Client.Rounds {
		r.Kind, r.Reason, r.Required = policy.MissingCapability, "MissingCapability", required
	}
	return r
}

// allowed is what policy lets the server ask.
func (x *exchange) allowed() registry.Client { return x.engine.Snapshot().Document().Policy.Client }

// giveOut asks the client in a result. What else the server's own result says stays in it.
func (x *exchange) giveOut(result []byte, questions []input.Question, state input.State, ttl time.Duration) requests.Answer {
	if state.Confirmation == nil {
		state.Confirmation = x.confirmation
	}
	sealed, err := x.vault.Seal(x.owner(), state, ttl)
	if err != nil {
		return requests.Answer{Era: x.era, Refusal: limits.Refuse("InputPending", "Too many requests wait for input. Answer some, or try again in some minutes.")}
	}
	return requests.Answer{Input: input.Result(result, questions, sealed), Era: x.era}
}

// askAll asks the client at once, all questions beside each other, while the call's time-out stands still.
func (x *exchange) askAll(ctx context.Context, questions []input.Question) (input.Answers, *policy.Refusal) {
	defer x.Deadline.Hold()()
	ctx, cancel := context.WithTimeout(ctx, roundTTL)
	defer cancel()
	replies := make([]upstream.Reply, len(questions))
	var group sync.WaitGroup
	for i, q := range questions {
		group.Go(func() {
			asked := x.Now()
			replies[i] = x.Client.Asker.Ask(ctx, q.Method, q.Params)
			x.RecordAsk(x.Caller, &x.Trace, upstream.Event{Method: q.Method, Params: q.Params}, replies[i], asked) //nolint:contextcheck // its parent is in the trace
		})
	}
	group.Wait()
	answers := input.Answers{}
	for i, reply := range replies {
		if reply.Error != nil || !jsonrpc.IsObject(reply.Result) {
			return nil, &policy.Refusal{Kind: policy.Denied, Stage: policy.StageUpstream, Tool: x.Call.Tool, Reason: "InputNotGiven",
				Message: fmt.Sprintf("The server needs %s of the client, which gave no answer to that.", questions[i].Method)}
		}
		answers[questions[i].Key] = bytes.Clone(reply.Result)
	}
	return answers, nil
}
