// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/audit"
	"toolgate.dev/toolgate/internal/dispatcher/confirm"
	"toolgate.dev/toolgate/internal/dispatcher/input"
	"toolgate.dev/toolgate/internal/dispatcher/policy"
	"toolgate.dev/toolgate/internal/dispatcher/requests"
	"toolgate.dev/toolgate/internal/mcp"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/rules"
)

// keyConfirmation is the key under which a confirmation is asked for in a round.
const keyConfirmation = input.Prefix + "confirmation"

// Reasons of refusals about confirmations.
const (
	reasonDeclined = "ConfirmationDeclined"
	reasonExpired  = "ConfirmationExpired"
	reasonVoid     = "ConfirmationVoid"
	reasonTooLong  = "ConfirmationTooLong"
)

func (x *exchange) unconfirmed(reason, message string) *policy.Refusal {
	x.Metrics.Confirmation(reason)
	return &policy.Refusal{Kind: policy.Denied, Stage: policy.StageConfirm, Tool: x.Call.Tool, Reason: reason, Message: message}
}

func (x *exchange) declined() *policy.Refusal {
	return x.unconfirmed(reasonDeclined, "The person who was asked did not confirm this call.")
}

// tooLong is why nobody is asked about a call that a person could not be shown whole.
func (x *exchange) tooLong(asked *policy.Refusal, err error) *policy.Refusal {
	refusal := x.unconfirmed(reasonTooLong, "This call needs a person's confirmation, and nobody is asked to confirm what they do not see: "+
		err.Error()+". Use shorter arguments. Otherwise people decide: "+wayOut(asked))
	refusal.Rule = asked.Rule
	return refusal
}

// wayOut is what people can change so that a call is not to be confirmed: the gate asks nothing on a trusted server, a rule does.
func wayOut(asked *policy.Refusal) string {
	if asked.Rule != "" {
		return "the RuleSet asks for this confirmation."
	}
	return "on a server that is trusted (spec.trust of the MCPServer) such calls need no confirmation."
}

// resumeConfirmation takes the confirmation that the state of an earlier round asks for or carries. It holds for the same
// arguments under the same policy; whether it is for the same definition is seen once that is known (settle).
func (x *exchange) resumeConfirmation() *policy.Refusal {
	c := x.state.Confirmation
	switch {
	case c == nil:
		return nil
	case c.Arguments != x.content():
		return x.unconfirmed(reasonVoid, "The arguments are not those that a person was asked to confirm. Call the tool again with the new ones.")
	case c.Policy != x.engine.Snapshot().Digest():
		return x.unconfirmed(reasonVoid, "The policy of this server has changed since a person was asked to confirm this call. Call the tool again.")
	case !c.Given && !confirm.Given(x.answers[keyConfirmation]):
		return x.declined()
	}
	x.accept(c)
	return nil
}

// accept takes a confirmation as given.
func (x *exchange) accept(c *input.Confirmation) {
	if !c.Given {
		x.Metrics.Confirmation("Confirmed")
		x.note(audit.Confirmed)
	}
	x.confirmation = &input.Confirmation{Given: true, Arguments: c.Arguments, Definition: c.Definition, Policy: c.Policy}
	x.Call.Confirmed = rules.Confirmation{By: string(registry.ConfirmByCaller)}
}

// note writes a record of what became of a confirmation while the request goes on.
func (x *exchange) note(outcome audit.Outcome) {
	r := x.base(outcome)
	r.ArgumentsDigest, r.ArgumentsBytes = x.Audit.Digest(x.Call.Arguments), len(x.Call.Arguments)
	x.write(r)
}

// confirmable says whether the person at the client can be asked to confirm the request.
func (x *exchange) confirmable() bool {
	return x.engine.Snapshot().Document().Policy.Confirm.By == registry.ConfirmByCaller && requests.TakesInput(x.Call.Method) &&
		x.Client.Form && (x.Client.Rounds || x.Client.Asker != nil)
}

// settle ends the request where the decision does: with its refusal, with a question for the person at the client, or because
// a confirmation was for something else. Nil lets it go on. again decides anew.
func (x *exchange) settle(ctx context.Context, again func()) *requests.Answer {
	refusal := x.decision.Refusal
	switch {
	case refusal == nil && x.confirmation != nil && x.confirmation.Definition != x.decision.Tool.Digest:
		return x.refused(x.unconfirmed(reasonVoid, "The tool is not defined as it was when a person was asked to confirm this call. Call it again."))
	case refusal == nil:
		return nil
	case refusal.Kind != policy.NeedsConfirmation || !x.confirmable():
		return x.refused(refusal)
	case x.state != nil:
		return x.refused(x.unconfirmed(reasonVoid, "This call needs a person's confirmation, and was begun without one. Begin it again."))
	}
	asked := &input.Confirmation{Arguments: x.content(), Definition: x.decision.Tool.Digest, Policy: x.engine.Snapshot().Digest()}
	params, err := confirm.Question(x.described(refusal.Message))
	if err != nil {
		return x.refused(x.tooLong(refusal, err))
	}
	question := input.Question{Key: keyConfirmation, Method: mcp.MethodElicit, Params: params}
	x.Metrics.Confirmation("Asked")
	if x.Client.Rounds {
		answer := x.giveOut(nil, []input.Question{question}, input.State{Keys: []string{keyConfirmation}, Confirmation: asked}, x.confirmTTL())
		x.confirming = answer.Input != nil
		return &answer
	}
	return x.confirmNow(ctx, question, asked, again)
}

func (x *exchange) refused(refusal *policy.Refusal) *requests.Answer {
	return &requests.Answer{Refusal: refusal, Era: x.era}
}

// confirmNow asks the person while the request waits. Nothing counts that has changed until the answer.
func (x *exchange) confirmNow(ctx context.Context, question input.Question, asked *input.Confirmation, again func()) *requests.Answer {
	x.note(audit.ConfirmPending)
	bounded, cancel := context.WithTimeout(ctx, x.confirmTTL())
	defer cancel()
	stop := x.tellOfWaiting()
	reply := x.Client.Asker.Ask(bounded, question.Method, question.Params)
	stop()
	switch {
	case ctx.Err() != nil:
		answer := x.failed(context.Cause(ctx))
		return &answer
	case errors.Is(bounded.Err(), context.DeadlineExceeded):
		return x.refused(x.unconfirmed(reasonExpired, "The person who was asked did not confirm this call in time."))
	case !confirm.Given(reply.Result):
		return x.refused(x.declined())
	case x.Engine().Snapshot().Digest() != asked.Policy:
		return x.refused(x.unconfirmed(reasonVoid, "The policy of this server changed while a person was asked to confirm this call. Call the tool again."))
	}
	x.accept(asked)
	x.Call.Now = x.Now()
	x.trusted = x.Trusted(x.engine)
	again()
	return x.settle(ctx, again)
}

// waitingEvery is how often a client hears that its call still waits for a person.
const waitingEvery = 10 * time.Second

// tellOfWaiting tells a client that wants progress that its call still waits, until stop is called, so that the client's own
// patience does not end before the person's. The values rise, as MCP asks, and stay below what a server begins with.
func (x *exchange) tellOfWaiting() (stop func()) {
	if x.Progress == nil {
		return func() {}
	}
	ticker := time.NewTicker(waitingEvery)
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for n := 1; ; n++ {
			select {
			case <-ticker.C:
				x.Progress(fmt.Appendf(nil, `{"progressToken":0,"progress":%.6f,"message":"Waiting for a person to confirm the call."}`, float64(n)/1e6))
			case <-over:
				return
			}
		}
	}()
	return func() {
		ticker.Stop()
		close(over)
		<-ended
	}
}

func (x *exchange) confirmTTL() time.Duration {
	return time.Duration(x.engine.Snapshot().Document().Policy.Confirm.TTLSeconds) * time.Second
}

// described is the request as a person sees it.
func (x *exchange) described(reason string) confirm.Call {
	c := confirm.Call{Server: x.ServerName(), Reason: reason, Kind: "Tool", Name: x.Call.Tool}
	switch {
	case x.Call.Name != "":
		c.Kind, c.Name = "Prompt", x.Call.Name
	case x.Call.URI != "":
		c.Kind, c.Name = "Resource", x.Call.URI
	}
	c.Arguments = x.Call.Arguments
	return c
}
