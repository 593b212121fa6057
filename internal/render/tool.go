// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"maps"

	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
)

// ToolApplyConfiguration is all that discovery ever applies of an MCPTool: its metadata, and the two fields of its spec that
// say which tool it is. It has the shape of client-go's generated ones, of which none exist for our kinds.
type ToolApplyConfiguration struct {
	metav1ac.TypeMetaApplyConfiguration    `json:",inline"`
	*metav1ac.ObjectMetaApplyConfiguration `json:"metadata,omitempty"`
	Spec                                   *ToolSpecApplyConfiguration `json:"spec,omitempty"`
}

// ToolSpecApplyConfiguration names a tool.
type ToolSpecApplyConfiguration struct {
	ServerRef *mcpv1alpha1.ServerRef `json:"serverRef,omitempty"`
	ToolName  *string                `json:"toolName,omitempty"`
}

// IsApplyConfiguration marks it as one.
func (ToolApplyConfiguration) IsApplyConfiguration() {}

// GetKind gives the kind.
func (t *ToolApplyConfiguration) GetKind() *string { return t.Kind }

// GetAPIVersion gives the group and version.
func (t *ToolApplyConfiguration) GetAPIVersion() *string { return t.APIVersion }

// GetName gives the name of the object.
func (t *ToolApplyConfiguration) GetName() *string { return t.Name }

// GetNamespace gives the namespace of the object.
func (t *ToolApplyConfiguration) GetNamespace() *string { return t.Namespace }

// ToolLabels are on an MCPTool of a server. What manages one that people have a word in is theirs to say, as Helm does.
func ToolLabels(server string, owned bool) map[string]string {
	labels := maps.Clone(PodSelector(server))
	if owned {
		labels[LabelManagedBy] = ManagedBy
	}
	return labels
}

// Tool renders the MCPTool of a tool. owned says whether it goes with its server.
func Tool(s *mcpv1alpha1.MCPServer, object, tool string, owned bool) *ToolApplyConfiguration {
	out := &ToolApplyConfiguration{
		ObjectMetaApplyConfiguration: metav1ac.ObjectMeta().
			WithName(object).
			WithNamespace(s.Namespace).
			WithLabels(ToolLabels(s.Name, owned)),
		Spec: &ToolSpecApplyConfiguration{ServerRef: &mcpv1alpha1.ServerRef{Name: s.Name}, ToolName: &tool},
	}
	out.WithKind("MCPTool").WithAPIVersion(mcpv1alpha1.GroupVersion.String())
	if owned {
		out.WithOwnerReferences(Owner(s))
	}
	return out
}
