// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"toolgate.dev/toolgate/internal/catalog"
	"toolgate.dev/toolgate/internal/mcp"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/rules"
)

// step is one stage of a call: it reads and fills the flow, and gives a refusal where the call ends.
type step struct {
	stage Stage
	run   func(e *Engine, f *flow) *Refusal
}

// callSteps is the pipeline of tools/call up to the server, in order.
var callSteps = []step{
	{StageMethod, exposed},
	{StageTool, known},
	{StagePin, admitted},
	{StageState, enabled},
	{StageArguments, arguments},
	{StageGate, gate},
	{StageRules, ruleSets},
	{StageConfirm, confirmation},
}

// messageSteps is the pipeline of every other request.
var messageSteps = []step{
	{StageMethod, exposed},
	{StageRules, ruleSets},
	{StageConfirm, confirmation},
}

// flow is what the stages of one call hand on.
type flow struct {
	call    Call
	view    View
	trusted bool
	dry     bool

	tool *registry.Tool
	// args are the arguments as rules see them: with the schema's defaults filled in.
	args []byte
	Decision
	// gated says why the gate wants a confirmation, empty if it wants none.
	gated string
	// note is what a stage that lets the call pass wants said of it, as a warning; remark is the same without one.
	note, remark string
}

// Decide runs the stages for one message: all of them for tools/call, and the method and rules stages for the others.
// view is the catalogue of the connection that would carry the call; it is not looked at for other methods.
func (e *Engine) Decide(view View, call Call, trusted bool) Decision {
	return e.decide(flow{call: call, view: view, trusted: trusted})
}

// Evaluate is Decide with a trace of every rule: the dry run. It goes on to the rules even when an earlier stage refuses,
// as long as the tool is known, so that each stage's verdict is seen; the first refusal stands.
func (e *Engine) Evaluate(view View, call Call, trusted bool) Decision {
	return e.decide(flow{call: call, view: view, trusted: trusted, dry: true})
}

// flows are for the time of one decision: nothing of a flow is kept but the Decision, which is copied out of it.
var flows = sync.Pool{New: func() any { return new(flow) }}

func (e *Engine) decide(of flow) Decision {
	f := flows.Get().(*flow)
	*f = of
	defer func() {
		*f = flow{}
		flows.Put(f)
	}()
	f.Timeout = time.Duration(e.policy().TimeoutSeconds) * time.Second
	steps := messageSteps
	if f.call.Method == mcp.MethodCallTool {
		steps = callSteps
	}
	f.Stages = make([]StageResult, 0, len(steps))
	for _, s := range steps {
		f.note, f.remark = "", ""
		refusal := s.run(e, f)
		f.Stages = append(f.Stages, word(s.stage, refusal, f))
		if refusal == nil {
			continue
		}
		refusal.Stage, refusal.Tool = s.stage, f.call.Tool
		if f.Refusal == nil {
			f.Refusal = refusal
		}
		if !f.dry || f.tool == nil {
			break
		}
	}
	return f.Decision
}

func word(stage Stage, refusal *Refusal, f *flow) StageResult {
	switch {
	case refusal != nil && refusal.Kind == NeedsConfirmation:
		return StageResult{Stage: stage, Verdict: Confirm, Rule: refusal.Rule, Message: refusal.Message}
	case refusal != nil:
		return StageResult{Stage: stage, Verdict: Refuse, Rule: refusal.Rule, Message: refusal.Message}
	case f.note != "":
		return StageResult{Stage: stage, Verdict: Warn, Message: f.note}
	default:
		return StageResult{Stage: stage, Verdict: Pass, Message: f.remark}
	}
}

func known(e *Engine, f *flow) *Refusal {
	name := f.call.Tool
	tool, ok := e.snapshot.Tool(name)
	if ok {
		f.tool = tool
		return nil
	}
	return &Refusal{
		Kind: ToolNotFound, Reason: "UnknownTool",
		Message: fmt.Sprintf("Unknown tool %q. tools/list names the tools that can be called.", name),
	}
}

// admitted lets a call through only to a definition that was admitted, as this very connection lists it.
func admitted(e *Engine, f *flow) *Refusal {
	t := f.tool
	if t.Withheld != "" && t.Withheld != registry.WithheldDisabled {
		return &Refusal{Kind: Denied, Reason: t.Withheld, Message: fmt.Sprintf("Tool %q is withheld: %s", t.Name, sentence(t))}
	}
	seen, err := f.view.Lookup(t.Name)
	if err != nil {
		return unservable(t.Name, err)
	}
	if seen.TaskRequired {
		return &Refusal{Kind: Denied, Reason: "TaskRequired", Message: fmt.Sprintf(
			"Tool %q can only be called as a task, and tasks are not served here.", t.Name)}
	}
	if !t.Admits(seen.Digest, e.policy()) {
		return notAdmitted(t)
	}
	f.Tool = seen
	return nil
}

// notAdmitted refuses a definition that may not be served.
func notAdmitted(t *registry.Tool) *Refusal {
	switch {
	case t.Digest != "":
		return &Refusal{Kind: Denied, Reason: "DefinitionChanged", Message: fmt.Sprintf(
			"The definition of tool %q has changed since it was admitted, so it is withheld until the people who run this server have looked at it.", t.Name)}
	case len(t.Digests) > 0:
		return &Refusal{Kind: Denied, Reason: "NotAdmitted", Message: fmt.Sprintf(
			"The definition of tool %q, as its server lists it now, is not known to keep what was promised of it. The people who run this server decide about it.", t.Name)}
	default:
		return &Refusal{Kind: Denied, Reason: "NotAdmitted", Message: fmt.Sprintf(
			"Tool %q has not been admitted yet. The people who run this server decide about it.", t.Name)}
	}
}

// unservable refuses a tool that is not listed as one that could be called.
func unservable(name string, err error) *Refusal {
	refusal := &Refusal{Kind: Denied, Reason: registry.WithheldInvalid, Message: fmt.Sprintf(
		"Tool %q is withheld: its definition cannot be served (%v).", name, err)}
	switch {
	case errors.Is(err, ErrNotListed):
		refusal.Reason, refusal.Message = "Gone", fmt.Sprintf(
			"Tool %q is not listed by its server at this moment. tools/list names the tools that can be called.", name)
	case errors.Is(err, ErrDuplicateName):
		refusal.Reason = registry.WithheldDuplicate
	case errors.Is(err, catalog.ErrNoInputSchema):
		refusal.Reason = "NoInputSchema"
	}
	return refusal
}

func sentence(t *registry.Tool) string {
	if t.Message != "" {
		return t.Message
	}
	return t.Withheld + "."
}

func enabled(_ *Engine, f *flow) *Refusal {
	if f.tool.Withheld == registry.WithheldDisabled {
		return &Refusal{Kind: Denied, Reason: registry.WithheldDisabled, Message: fmt.Sprintf(
			"Tool %q is disabled by the people who run this server.", f.tool.Name)}
	}
	if f.tool.TimeoutSeconds > 0 {
		f.Timeout = time.Duration(f.tool.TimeoutSeconds) * time.Second
	}
	return nil
}

func ruleSets(e *Engine, f *flow) *Refusal {
	sets := e.snapshot.RuleSets()
	if len(sets) == 0 {
		return nil
	}
	in := e.ruleInput(f)
	if f.dry {
		f.Rules = rules.Evaluate(sets, in)
	} else {
		f.Rules = rules.Decide(sets, in)
	}
	switch f.Rules.Action {
	case rules.Reject:
		return &Refusal{Kind: Denied, Reason: "RuleRejected", Rule: ruleName(f.Rules), Message: f.Rules.Message}
	case rules.RequireConfirmation, rules.Allow, rules.ActionNone:
		return nil
	case rules.Warn:
		f.note = f.Rules.Message
		return nil
	default:
		return &Refusal{Kind: Denied, Reason: "RuleRejected", Rule: ruleName(f.Rules), Message: fmt.Sprintf(
			"A rule gave the verdict %q, which this dispatcher does not know.", f.Rules.Action)}
	}
}

func ruleName(d rules.Decision) string {
	if d.Rule == "" {
		return d.Set
	}
	return d.Set + "/" + d.Rule
}

func (e *Engine) ruleInput(f *flow) rules.Input {
	server := e.snapshot.Document().Server
	trust := "Untrusted"
	if f.trusted {
		trust = "Trusted"
	}
	in := rules.Input{
		RawArgs: f.call.Arguments, Args: f.args,
		Server: rules.ServerInfo{
			Name: server.Name, Namespace: server.Namespace, Domain: server.Domain, Capabilities: server.Capabilities, Trust: trust,
		},
		Caller: f.call.Caller,
		Client: f.call.Client, Confirmed: f.call.Confirmed,
		Call: rules.CallInfo{
			Method: f.call.Method, URI: f.call.URI, Name: f.call.Name, ProtocolVersion: f.call.ProtocolVersion, Time: f.call.Now,
		},
	}
	if f.tool != nil {
		in.Call.Name = f.tool.Name
		in.Tool = e.toolInfo(f.Tool, f.tool, f.Effective)
	}
	return in
}

func (e *Engine) toolInfo(tool catalog.Tool, reg *registry.Tool, v catalog.Verdict) rules.ToolInfo {
	return rules.ToolInfo{
		Name: reg.Name, Title: tool.Title, Version: reg.Version, Destructive: e.gated(v),
		Hints: rules.Hints{Destructive: v.Destructive, ReadOnly: v.ReadOnly, Idempotent: v.Idempotent, OpenWorld: v.OpenWorld},
	}
}
