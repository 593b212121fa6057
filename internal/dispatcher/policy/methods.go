// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"slices"

	"toolgate.dev/toolgate/internal/mcp"
	"toolgate.dev/toolgate/internal/registry"
)

// feature says which switch of spec.expose lets a method through.
type feature uint8

const (
	always feature = iota
	tools
	resources
	prompts
	completions
	// direct is for methods that the dispatcher answers itself where they have a meaning: they never reach a server.
	direct
)

// methods are the requests of a client that Toolgate knows. Tasks are not among them: until task results are policed, they
// are refused like any method that is unknown.
var methods = map[string]feature{
	mcp.MethodPing:        always,
	mcp.MethodSetLogLevel: always,
	mcp.MethodInitialize:  direct,
	mcp.MethodDiscover:    direct,

	mcp.MethodListen: direct,

	mcp.MethodListTools: tools,
	mcp.MethodCallTool:  tools,

	mcp.MethodListResources: resources,
	mcp.MethodListTemplates: resources,
	mcp.MethodReadResource:  resources,
	mcp.MethodSubscribe:     resources,
	mcp.MethodUnsubscribe:   resources,

	mcp.MethodListPrompts: prompts,
	mcp.MethodGetPrompt:   prompts,

	mcp.MethodComplete: completions,
}

// PassesThrough says whether spec.passthrough lets a method through. It names what Toolgate does not know: no entry lifts a
// check from a method that Toolgate does know, in whatever form the message comes.
func PassesThrough(p *registry.Policy, method string) bool {
	return !Knows(method) && slices.Contains(p.Passthrough, method)
}

// Knows says whether a method is one whose requests Toolgate reads.
func Knows(method string) bool {
	_, known := methods[method]
	return known
}

// exposed lets a request through that is known and exposed, or named by spec.passthrough.
func exposed(e *Engine, f *flow) *Refusal {
	name := f.call.Method
	p := e.policy()
	wanted, known := methods[name]
	if PassesThrough(p, name) {
		return nil
	}
	if !known || wanted == direct {
		return &Refusal{Kind: MethodNotFound, Reason: "UnknownMethod", Message: fmt.Sprintf("Method %q is not served here.", name)}
	}
	allowed := false
	switch wanted {
	case always:
		allowed = true
	case tools:
		allowed = p.Expose.Tools
	case resources:
		allowed = p.Expose.Resources
	case prompts:
		allowed = p.Expose.Prompts
	case completions:
		allowed = p.Expose.Completions
	case direct: // refused above
	}
	if allowed {
		return nil
	}
	return &Refusal{Kind: MethodNotFound, Reason: "NotExposed", Message: fmt.Sprintf("Method %q is not exposed by this server.", name)}
}
