// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/render"
	"toolgate.dev/toolgate/internal/render/document"
)

// unlisted is the verdict on a tool that no pod lists by which it is judged.
func (d *ToolInput) unlisted(now *mcpv1alpha1.MCPToolStatus, list []metav1.Condition) verdict {
	o := d.Tool.Status.Observed
	switch {
	case o != nil && document.OnlyInSessions(o) && d.definitions().Untold(o):
		return d.unread(now, list)
	case o != nil:
		return no(mcpv1alpha1.ReasonGone, "the server no longer lists it")
	case d.View.Lists(d.Tool.Spec.ToolName):
		return no(mcpv1alpha1.ReasonNotListed, fmt.Sprintf("revision %s does not list it; another one does", d.View.Judged))
	default:
		return no(mcpv1alpha1.ReasonNotListed, "the server has not listed it so far")
	}
}

// unread is the verdict while no pod has told its catalogue: what was told before, but for a contract that was changed since. That is held
// against what is shown, as the document holds it.
func (d *ToolInput) unread(now *mcpv1alpha1.MCPToolStatus, list []metav1.Condition) verdict {
	last, known := previous(list, mcpv1alpha1.ConditionRegistered)
	shown := d.Tool.Status.Observed
	if !known || shown == nil || last.reason == mcpv1alpha1.ReasonDisabled {
		return no(mcpv1alpha1.ReasonNotDiscovered, "the server's catalogue has not been read yet")
	}
	broken := d.keptByNone(now) || slices.Contains(now.ContractBroken, shown.Digest)
	switch {
	case last.status == metav1.ConditionTrue && broken:
		return no(mcpv1alpha1.ReasonContractBroken, "the definition that the server listed last is not known to keep spec.contract; its catalogue has not been read since that was changed")
	case last.reason == mcpv1alpha1.ReasonContractBroken && !broken && d.Tool.Status.ObservedGeneration != d.Tool.Generation:
		return d.admission(&registry.ObservedTool{Name: d.Tool.Spec.ToolName, Digest: shown.Digest}, now)
	default:
		return last
	}
}

// keptByNone says that any definition is served which keeps the contract, and that none is known to.
func (d *ToolInput) keptByNone(now *mcpv1alpha1.MCPToolStatus) bool {
	return render.Pinning(d.Server) == mcpv1alpha1.PinningOff && d.definitions().Admitted(now.Pins) == "" &&
		d.Tool.Spec.Contract.Promises() && len(now.ContractKept) == 0
}
