// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
)

// large is how many sets of rules, of thirty kilobytes each, make a document that is cut into shards.
const large = 12

// with makes a server as it is changed.
func with(edit func(*mcpv1alpha1.MCPServerSpec)) step {
	return func(ctx context.Context, p person) error {
		s := p.server("files")
		edit(&s.Spec)
		return p.create(ctx, s)
	}
}

// both takes one step after the other.
func both(steps ...step) step {
	return func(ctx context.Context, p person) error {
		for _, s := range steps {
			if err := s(ctx, p); err != nil {
				return err
			}
		}
		return nil
	}
}

// say changes what a person has said of a tool.
func say(edited func(*mcpv1alpha1.MCPTool)) step {
	return func(ctx context.Context, p person) error {
		return edit(ctx, p, &mcpv1alpha1.MCPTool{}, "files.write-file", edited)
	}
}

func (p person) largeSet(i int) *mcpv1alpha1.RuleSet {
	rs := p.ruleSet(fmt.Sprintf("large-%02d", i), "false")
	rule := rs.Spec.Rules[0]
	rs.Spec.Rules = nil
	for j := range 30 {
		rule.Name, rule.Message = fmt.Sprintf("rule-%d", j), strings.Repeat("x", 1000)
		rs.Spec.Rules = append(rs.Spec.Rules, rule)
	}
	return rs
}

func largeSetsCome(ctx context.Context, p person) error {
	for i := range large {
		if err := p.create(ctx, p.largeSet(i)); err != nil {
			return err
		}
	}
	return nil
}

func largeSetsGo(ctx context.Context, p person) error {
	for i := range large {
		if err := p.delete(ctx, p.largeSet(i)); err != nil {
			return err
		}
	}
	return nil
}

// promises is a contract with an input.
func promises(schema string) func(*mcpv1alpha1.MCPTool) {
	return func(t *mcpv1alpha1.MCPTool) {
		t.Spec.Contract = &mcpv1alpha1.Contract{Version: "1.0.0", InputSchema: &runtime.RawExtension{Raw: []byte(schema)}}
	}
}

// approve pins what is listed.
func approve(t *mcpv1alpha1.MCPTool) { t.Spec.Pin = &mcpv1alpha1.Pin{Digest: t.Status.Observed.Digest} }

// flows are scenarios of documents that grow, and of what people say of tools.
func flows() []scenario {
	manual := with(func(s *mcpv1alpha1.MCPServerSpec) { s.Discovery.Pinning = mcpv1alpha1.PinningManual })
	kept := promises(`{"type":"object","properties":{"path":{"type":"string"}}}`)
	five := with(func(s *mcpv1alpha1.MCPServerSpec) { s.Container.Image = fiveTools })
	three := func(s *mcpv1alpha1.MCPServerSpec) { s.Replicas = new(int32(3)) }
	return []scenario{
		{name: "the document is cut into shards", before: oneServer, then: largeSetsCome},
		{name: "the shards become one piece again", before: both(oneServer, largeSetsCome), then: largeSetsGo},
		{name: "a person overrides a hint", before: oneServer, then: say(func(t *mcpv1alpha1.MCPTool) { t.Spec.Hints.ReadOnly = mcpv1alpha1.HintTrue })},
		{name: "a person takes their word back", before: withRules, then: say(func(t *mcpv1alpha1.MCPTool) { t.Spec.Hints = mcpv1alpha1.Hints{} })},
		{name: "a contract is made that is kept", before: oneServer, then: say(kept)},
		{name: "a contract is made that is broken", before: oneServer, then: say(promises(`{"type":"object","properties":{"mode":{"type":"string"}}}`))},
		{name: "another image comes under a contract", before: both(oneServer, settledTool, say(kept)), then: change(func(s *mcpv1alpha1.MCPServerSpec) {
			s.Container.Image = secondImage
		})},
		{name: "a tool is approved", before: manual, then: say(approve)},
		{name: "tools disappear", before: five, then: change(func(s *mcpv1alpha1.MCPServerSpec) { s.Container.Image = firstImage })},
		{name: "the replicas shrink", before: with(three), then: change(func(s *mcpv1alpha1.MCPServerSpec) { s.Replicas = nil })},
		{name: "another image is rolled out to three pods", before: with(three), then: change(func(s *mcpv1alpha1.MCPServerSpec) {
			s.Container.Image = secondImage
		})},
		{name: "the replicas are handed over", before: oneServer, then: change(func(s *mcpv1alpha1.MCPServerSpec) {
			s.Scaling = mcpv1alpha1.ScalingExternal
		})},
		{name: "a server is enabled", before: with(func(s *mcpv1alpha1.MCPServerSpec) { s.State = mcpv1alpha1.StateDisabled }), then: change(func(s *mcpv1alpha1.MCPServerSpec) {
			s.State = ""
		})},
		{name: "a server is made again", before: withRules, then: func(ctx context.Context, p person) error {
			if err := p.delete(ctx, p.server("files")); err != nil {
				return err
			}
			return p.create(ctx, p.server("files"))
		}},
	}
}

// settledTool waits until discovery has made the tool.
func settledTool(ctx context.Context, p person) error {
	return awaitFor(ctx, p.patience(), "a tool", func() (bool, error) {
		var t mcpv1alpha1.MCPTool
		err := p.Client.Get(ctx, client.ObjectKey{Namespace: p.namespace, Name: "files.write-file"}, &t)
		return err == nil && t.Status.Observed != nil, client.IgnoreNotFound(err)
	})
}
