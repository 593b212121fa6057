// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"maps"
	"slices"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/catalog"
	"toolgate.dev/toolgate/internal/catalog/change"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/schema"
)

// contract is what people promise in schemas; the zero value promises nothing.
func (t Tool) contract() change.Contract {
	c := t.Object.Spec.Contract
	if c == nil {
		return change.Contract{}
	}
	return change.Contract{InputSchema: raw(c.InputSchema), OutputSchema: raw(c.OutputSchema)}
}

// contractBroken are the digests of all definitions that discovery lists or that are admitted, and break the contract, sorted. One that is
// admitted and can't be looked at counts as broken, unless it was admitted before and seen to keep this very contract. What sessions alone
// list is not served unless it is admitted, and must not take the room of what is.
func (t Tool) contractBroken(last *mcpv1alpha1.MCPToolStatus, pins []mcpv1alpha1.RevisionPin) []string {
	contract := t.contract()
	if !t.Object.Spec.Contract.Promises() {
		return nil
	}
	digests := map[string]bool{}
	for digest := range t.View.discoveredDefinitions(t.Object.Spec.ToolName) {
		digests[digest] = true
	}
	for _, p := range pins {
		digests[p.Digest] = true
	}
	if t.Object.Spec.Pin != nil {
		digests[t.Object.Spec.Pin.Digest] = true
	}
	judged := t.Object.Status.ObservedGeneration == t.Object.Generation
	var out []string
	for _, digest := range slices.Sorted(maps.Keys(digests)) {
		def, known := t.definition(last, digest)
		switch {
		case known && len(def.omitted()) == 0:
			if len(change.Breaks(contract, def.tool)) > 0 {
				out = append(out, digest)
			}
		case !judged || slices.Contains(last.ContractBroken, digest) || !t.before(last, digest):
			out = append(out, digest)
		}
	}
	return out
}

// maxKept is how many the status has room for.
const maxKept = 64

// contractKept are the digests of all definitions that discovery lists and that keep the contract, sorted. As long as not every pod has told what it
// lists, or none lists the tool, those that did before are among them: a manager that has just started knows no better. Of these, one that
// can't be looked at any more was seen to keep this very contract.
func (t Tool) contractKept(last *mcpv1alpha1.MCPToolStatus) []string {
	contract := t.contract()
	if !t.Object.Spec.Contract.Promises() {
		return nil
	}
	keeps := func(digest string) bool {
		def, known := t.definition(last, digest)
		if known && len(def.omitted()) == 0 {
			return len(change.Breaks(contract, def.tool)) == 0
		}
		return t.Object.Status.ObservedGeneration == t.Object.Generation && slices.Contains(last.ContractKept, digest)
	}
	digests := slices.Sorted(maps.Keys(t.View.discoveredDefinitions(t.Object.Spec.ToolName)))
	if !t.View.Complete() || len(digests) == 0 {
		digests = append(digests, last.ContractKept...)
		if last.Observed != nil && last.Observed.SessionVariants == 0 {
			digests = append(digests, last.Observed.Digest)
		}
	}
	var out []string
	for _, digest := range digests {
		if len(out) < maxKept && !slices.Contains(out, digest) && keeps(digest) {
			out = append(out, digest)
		}
	}
	slices.Sort(out)
	return out
}

// before says whether a definition was admitted when the contract was looked at last.
func (t Tool) before(last *mcpv1alpha1.MCPToolStatus, digest string) bool {
	is := func(p mcpv1alpha1.RevisionPin) bool { return p.Digest == digest }
	return slices.ContainsFunc(last.Pins, is) || t.Object.Spec.Pin != nil && t.Object.Spec.Pin.Digest == digest
}

// ContractText says how a definition breaks the contract; "" where it keeps it.
func (t Tool) ContractText(chosen *registry.ObservedTool) string {
	contract := t.contract()
	if !t.Object.Spec.Contract.Promises() {
		return ""
	}
	for _, side := range []struct {
		field  string
		schema []byte
	}{{"inputSchema", contract.InputSchema}, {"outputSchema", contract.OutputSchema}} {
		if side.schema == nil {
			continue
		}
		if _, err := schema.Compile(side.schema, schema.Options{}); err != nil {
			return Clip(fmt.Sprintf("spec.contract.%s can't be read, so nothing keeps it: %v", side.field, err), maxText)
		}
	}
	tool, _ := catalog.ParseTool(chosen.Definition)
	if broken := change.Breaks(contract, tool); len(broken) > 0 {
		return "the definition breaks spec.contract: " + change.Text(broken, maxText) + "; mend the server, or change the contract"
	}
	return ""
}
