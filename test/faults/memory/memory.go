// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package memory knows what servers and their tools remember of their past on purpose: it reads it, judges it by what the past
// was, and gives it to others, so that two of a different past can be compared in everything else. Nothing is left out of the
// comparison for it: what is remembered wrongly fails the judgement, and what follows wrongly from a memory differs.
//
// It must not import controllers: the past is told by the test that went through it.
package memory

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
)

// Memory is that of the one server of a namespace. The exact fields are in Give.
type Memory struct {
	server *mcpv1alpha1.MCPServer
	// deployment is nil where there is none.
	deployment *appsv1.Deployment
	// tools are by the name of the object.
	tools map[string]*mcpv1alpha1.MCPTool
}

// Of reads a memory out of the objects of a namespace.
func Of(objects []unstructured.Unstructured) (Memory, error) {
	m := Memory{tools: map[string]*mcpv1alpha1.MCPTool{}}
	for i := range objects {
		o := objects[i].Object
		var err error
		switch objects[i].GetKind() {
		case "MCPServer":
			m.server = &mcpv1alpha1.MCPServer{}
			err = runtime.DefaultUnstructuredConverter.FromUnstructured(o, m.server)
		case "Deployment":
			m.deployment = &appsv1.Deployment{}
			err = runtime.DefaultUnstructuredConverter.FromUnstructured(o, m.deployment)
		case "MCPTool":
			tool := &mcpv1alpha1.MCPTool{}
			err = runtime.DefaultUnstructuredConverter.FromUnstructured(o, tool)
			m.tools[tool.Name] = tool
		}
		if err != nil {
			return Memory{}, fmt.Errorf("reading %s %s: %w", objects[i].GetKind(), objects[i].GetName(), err)
		}
	}
	return m, nil
}

// silent says that no pod tells what the server lists, so that all that is known of it is remembered.
func (m Memory) silent() bool {
	return m.deployment == nil || ptr.Deref(m.deployment.Spec.Replicas, 1) == 0
}

// handedOver says that the replicas are an autoscaler's, who found some when they were handed over.
func (m Memory) handedOver() bool {
	return m.server.Spec.Scaling == mcpv1alpha1.ScalingExternal && m.deployment != nil
}
