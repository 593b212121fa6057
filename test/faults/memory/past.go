// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"errors"
	"fmt"
	"slices"

	"k8s.io/utils/ptr"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/render"
)

// most is how many revisions are remembered (status.revisions in docs/api.md).
const most = 10

// Past is what a server and its tools have been through: every spec that they had.
type Past struct {
	// catalogues are what each revision lists.
	catalogues map[string]*registry.Catalogue
	// replicas are those that were asked for.
	replicas map[int32]bool
	// byPeople are the digests that people pinned.
	byPeople map[string]bool
	// strict says that definitions may have been admitted for later revisions.
	strict bool
}

// Begin is a past without anything in it.
func Begin() *Past {
	return &Past{catalogues: map[string]*registry.Catalogue{}, replicas: map[int32]bool{}, byPeople: map[string]bool{}}
}

// Server adds a spec that a server has, as the API server gives it back, and what it lists with it.
func (p *Past) Server(s *mcpv1alpha1.MCPServer, lists *registry.Catalogue) error {
	revision, err := render.Revision(s)
	if err != nil {
		return err
	}
	p.catalogues[revision] = lists
	p.replicas[*s.Spec.Effective().Replicas] = true
	p.strict = p.strict || render.Pinning(s) == mcpv1alpha1.PinningStrict
	return nil
}

// Tool adds a spec that a tool has.
func (p *Past) Tool(t *mcpv1alpha1.MCPTool) {
	if t.Spec.Pin != nil {
		p.byPeople[t.Spec.Pin.Digest] = true
	}
}

// digest is that of a tool in a revision; "" where it is not listed.
func (p *Past) digest(revision, tool string) string {
	if cat := p.catalogues[revision]; cat != nil {
		for _, t := range cat.Tools {
			if t.Name == tool {
				return t.Digest
			}
		}
	}
	return ""
}

// had says that a tool was listed, or pinned by people, with a digest.
func (p *Past) had(tool, digest string) bool {
	for revision := range p.catalogues {
		if digest != "" && p.digest(revision, tool) == digest {
			return true
		}
	}
	return p.byPeople[digest]
}

// Judge says what in a memory the past does not account for. before is what was remembered earlier; the zero value is nothing.
func (m Memory) Judge(past *Past, before Memory) error {
	known := map[string]bool{}
	var wrong []error
	for _, r := range m.server.Status.Revisions {
		known[r.Name] = true
		switch lists := past.catalogues[r.Name]; {
		case lists == nil:
			wrong = append(wrong, fmt.Errorf("the server never had the revision %s of its status", r.Name))
		case r.FirstCatalogueDigest != "" && r.FirstCatalogueDigest != lists.Digest:
			wrong = append(wrong, fmt.Errorf("revision %s is remembered with catalogue %s, and it lists %s", r.Name, r.FirstCatalogueDigest, lists.Digest))
		}
	}
	current, err := render.Revision(m.server)
	if err != nil {
		return err
	}
	if !known[current] {
		wrong = append(wrong, fmt.Errorf("the server does not remember its revision %s", current))
	}
	if before.server != nil && len(known) < most {
		for _, r := range before.server.Status.Revisions {
			// One that had not listed anything may have done so since.
			if !m.remembers(r.Name) || r.FirstCatalogueDigest != "" && !slices.Contains(m.server.Status.Revisions, r) {
				wrong = append(wrong, fmt.Errorf("the server has forgotten %+v, or remembers it otherwise", r))
			}
		}
	}
	if m.handedOver() && !past.replicas[ptr.Deref(m.deployment.Spec.Replicas, 1)] {
		wrong = append(wrong, fmt.Errorf("nobody ever asked for %d replicas", *m.deployment.Spec.Replicas))
	}
	for name, tool := range m.tools {
		wrong = append(wrong, m.judgeTool(past, tool, before.tools[name], current))
	}
	return errors.Join(wrong...)
}

func (m Memory) judgeTool(past *Past, tool, before *mcpv1alpha1.MCPTool, current string) error {
	name := tool.Spec.ToolName
	wrong := []error{m.judgePins(past, tool), m.kept(tool, before)}
	lists := past.digest(current, name)
	if render.Pinning(m.server) == mcpv1alpha1.PinningPerRevision && !m.silent() && lists != "" && pinOf(tool, current) == "" {
		wrong = append(wrong, fmt.Errorf("tool %s has no pin of revision %s, which lists it", name, current))
	}
	for _, digest := range tool.Status.ContractBroken {
		if !past.had(name, digest) {
			wrong = append(wrong, fmt.Errorf("tool %s has %s among what breaks its contract, which it never was", name, digest))
		}
	}
	for _, digest := range tool.Status.ContractKept {
		if !past.had(name, digest) {
			wrong = append(wrong, fmt.Errorf("tool %s has %s among what keeps its contract, which it never was", name, digest))
		}
	}
	if c := tool.Status.Change; c != nil && c.From != "" && !past.had(name, c.From) {
		wrong = append(wrong, fmt.Errorf("tool %s has a change from %s, which it never was", name, c.From))
	}
	if a := tool.Status.Admitted; a != nil && !past.had(name, a.Digest) {
		wrong = append(wrong, fmt.Errorf("tool %s shows %s as admitted, which it never was", name, a.Digest))
	}
	return errors.Join(wrong...)
}

// judgePins wants pins of remembered revisions alone, each of what the revision lists, or an earlier one where that may be.
func (m Memory) judgePins(past *Past, tool *mcpv1alpha1.MCPTool) error {
	name := tool.Spec.ToolName
	var wrong []error
	for _, pin := range tool.Status.Pins {
		own := past.digest(pin.Revision, name)
		earlier := past.strict && past.had(name, pin.Digest)
		switch {
		case !m.remembers(pin.Revision):
			wrong = append(wrong, fmt.Errorf("tool %s has a pin of revision %s, which the server does not remember", name, pin.Revision))
		case pin.Digest != own && !earlier:
			wrong = append(wrong, fmt.Errorf("tool %s is pinned to %s in revision %s, which lists %q", name, pin.Digest, pin.Revision, own))
		}
	}
	return errors.Join(wrong...)
}

// kept wants the pins that there were before to be there, as long as their revision is remembered.
func (m Memory) kept(tool, before *mcpv1alpha1.MCPTool) error {
	if before == nil || before.UID != tool.UID {
		return nil
	}
	if tool.Spec.Contract != nil && !render.Automatic(m.server) {
		return nil // a pin that counts for nothing and breaks the contract goes
	}
	var wrong []error
	for _, pin := range before.Status.Pins {
		if now := pinOf(tool, pin.Revision); m.remembers(pin.Revision) && now != pin.Digest {
			wrong = append(wrong, fmt.Errorf("the pin of tool %s of revision %s was %s, and is %q", tool.Spec.ToolName, pin.Revision, pin.Digest, now))
		}
	}
	return errors.Join(wrong...)
}

func (m Memory) remembers(revision string) bool {
	return slices.ContainsFunc(m.server.Status.Revisions, func(r mcpv1alpha1.RevisionStatus) bool { return r.Name == revision })
}

func pinOf(tool *mcpv1alpha1.MCPTool, revision string) string {
	for _, pin := range tool.Status.Pins {
		if pin.Revision == revision {
			return pin.Digest
		}
	}
	return ""
}
