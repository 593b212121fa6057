// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/render"
)

// Give gives another server of the same spec what this one remembers, and no more:
//
//   - of the server, status.revisions;
//   - of each tool, status.pins, status.admitted, status.change, status.contractBroken and status.contractKept, of which the manager finds out again
//     what is listed;
//   - the Deployment's replicas, where an autoscaler has been handed those that there were;
//   - while no pod runs, so that nobody could tell it anew: what the server said of itself, the objects of the tools that it
//     listed, and of each tool status.observed and the condition Registered.
//
// It is written as the manager would have, whose own fields are compared as well; since that does not look for what it wrote itself, it
// is made to look. It writes where something differs, and nothing else, and may be called as often as one likes. What the manager makes of it
// is the manager's.
func (m Memory) Give(ctx context.Context, c client.Client, to Memory) error {
	if m.server == nil || to.server == nil || to.server.Status.ObservedGeneration == 0 {
		return nil // there is nobody yet who could remember
	}
	given, err := m.giveServer(ctx, c, to)
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	for name, tool := range m.tools {
		gave, err := m.giveTool(ctx, c, tool, to.tools[name], to.server)
		if err != nil {
			return fmt.Errorf("giving a memory to MCPTool %s: %w", name, client.IgnoreNotFound(err))
		}
		given = given || gave
	}
	if given {
		if err := look(ctx, c, to.server); err != nil {
			return err
		}
	}
	if !m.handedOver() || !to.handedOver() || equality.Semantic.DeepEqual(m.deployment.Spec.Replicas, to.deployment.Spec.Replicas) {
		return nil
	}
	scaled := to.deployment.DeepCopy()
	scaled.Spec.Replicas = m.deployment.Spec.Replicas
	if err := c.Patch(ctx, scaled, client.MergeFrom(to.deployment)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("scaling Deployment %s: %w", scaled.Name, err)
	}
	return nil
}

// giveServer says whether it gave the server something.
func (m Memory) giveServer(ctx context.Context, c client.Client, to Memory) (bool, error) {
	want := to.server.DeepCopy()
	from, status := &m.server.Status, &want.Status
	status.Revisions = from.Revisions
	if m.silent() && to.silent() {
		status.ServerInfo, status.ProtocolVersion, status.Capabilities = from.ServerInfo, from.ProtocolVersion, from.Capabilities
		status.ToolsCount, status.ResourcesCount, status.PromptsCount = from.ToolsCount, from.ResourcesCount, from.PromptsCount
		status.DispatcherVersion = from.DispatcherVersion
	}
	if equality.Semantic.DeepEqual(to.server.Status, want.Status) {
		return false, nil
	}
	if err := c.Status().Patch(ctx, want, client.MergeFrom(to.server), client.FieldOwner(render.FieldOwner)); err != nil {
		return false, fmt.Errorf("giving a memory to MCPServer %s: %w", want.Name, err)
	}
	return true, nil
}

// giveTool says whether it gave a tool that is there something.
func (m Memory) giveTool(ctx context.Context, c client.Client, tool, to *mcpv1alpha1.MCPTool, server *mcpv1alpha1.MCPServer) (bool, error) {
	if to == nil {
		if !m.silent() {
			return false, nil // a pod that lists it makes the manager make it
		}
		made := render.Tool(server, tool.Name, tool.Spec.ToolName, !render.OwnedByPeople(tool))
		return false, c.Apply(ctx, made, client.FieldOwner(render.FieldOwner), client.ForceOwnership)
	}
	want := to.DeepCopy()
	want.Status.Pins, want.Status.Admitted, want.Status.Change = tool.Status.Pins, tool.Status.Admitted, tool.Status.Change
	want.Status.ContractBroken, want.Status.ContractKept = tool.Status.ContractBroken, tool.Status.ContractKept
	if m.silent() {
		want.Status.Observed = tool.Status.Observed
		want.Status.Conditions = registered(want.Status.Conditions, tool)
	}
	if equality.Semantic.DeepEqual(to.Status, want.Status) {
		return false, nil
	}
	return true, c.Status().Patch(ctx, want, client.MergeFrom(to), client.FieldOwner(render.FieldOwner))
}

// look makes the manager look at a server's tools: its reconciler of tools comes for anything that happens to the server.
func look(ctx context.Context, c client.Client, server *mcpv1alpha1.MCPServer) error {
	const note = "faults.test/look"
	for _, value := range []string{`"now"`, `null`} {
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+note+`":`+value+`}}}`))
		o := &mcpv1alpha1.MCPServer{ObjectMeta: metav1.ObjectMeta{Namespace: server.Namespace, Name: server.Name}}
		if err := c.Patch(ctx, o, patch); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("touching MCPServer %s: %w", server.Name, err)
		}
	}
	return nil
}

// registered puts a tool's condition Registered in the place of that of others, with their times and generations.
func registered(list []metav1.Condition, tool *mcpv1alpha1.MCPTool) []metav1.Condition {
	from := meta.FindStatusCondition(tool.Status.Conditions, mcpv1alpha1.ConditionRegistered)
	out := slices.Clone(list)
	to := meta.FindStatusCondition(out, mcpv1alpha1.ConditionRegistered)
	if from == nil || to == nil {
		return out
	}
	to.Status, to.Reason, to.Message = from.Status, from.Reason, from.Message
	return out
}
