// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package writes

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers/decide"
	"toolgate.dev/toolgate/internal/render"
)

// StatusWriter writes a status once, only when it changed, and tells of transitions after it was written.
type StatusWriter struct {
	Client client.Client
	Events events.EventRecorder
}

// statusOf is a status within its object.
type statusOf[S any] struct {
	object client.Object
	// current points into object.
	current    *S
	conditions func(*S) []metav1.Condition
	// news is what people are told beside the conditions; nil for nothing.
	news func(before, after *S) []decide.Transition
}

// Server writes the status of an MCPServer.
func (w *StatusWriter) Server(ctx context.Context, s *mcpv1alpha1.MCPServer, want mcpv1alpha1.MCPServerStatus) error {
	return write(ctx, w, statusOf[mcpv1alpha1.MCPServerStatus]{
		object: s, current: &s.Status,
		conditions: func(st *mcpv1alpha1.MCPServerStatus) []metav1.Condition { return st.Conditions },
	}, want)
}

// Tool writes the status of an MCPTool.
func (w *StatusWriter) Tool(ctx context.Context, t *mcpv1alpha1.MCPTool, want mcpv1alpha1.MCPToolStatus) error {
	return write(ctx, w, statusOf[mcpv1alpha1.MCPToolStatus]{
		object: t, current: &t.Status,
		conditions: func(st *mcpv1alpha1.MCPToolStatus) []metav1.Condition { return st.Conditions },
		news:       decide.ToolNews,
	}, want)
}

// RuleSet writes the status of a RuleSet.
func (w *StatusWriter) RuleSet(ctx context.Context, rs *mcpv1alpha1.RuleSet, want mcpv1alpha1.RuleSetStatus) error {
	return write(ctx, w, statusOf[mcpv1alpha1.RuleSetStatus]{
		object: rs, current: &rs.Status,
		conditions: func(st *mcpv1alpha1.RuleSetStatus) []metav1.Condition { return st.Conditions },
	}, want)
}

// write brings the object's status to want. The update carries the resource version that the decision was made on: a
// status computed from an older object is refused, so that nothing recorded since is lost.
func write[S any](ctx context.Context, w *StatusWriter, of statusOf[S], want S) error {
	if equality.Semantic.DeepEqual(*of.current, want) {
		return nil
	}
	before := *of.current
	*of.current = want
	// The cache keeps marks in place of the managed fields, which must not take the place of these.
	of.object.SetManagedFields(nil)
	if err := w.Client.Status().Update(ctx, of.object, client.FieldOwner(render.FieldOwner)); err != nil {
		return fmt.Errorf("writing status: %w", err)
	}
	news := decide.Transitions(of.conditions(&before), of.conditions(of.current))
	if of.news != nil {
		news = append(news, of.news(&before, of.current)...)
	}
	w.Tell(of.object, news)
	return nil
}

// Tell makes an event of each transition. What is told beside a status comes after it, too.
func (w *StatusWriter) Tell(o client.Object, news []decide.Transition) {
	for _, t := range news {
		kind := corev1.EventTypeNormal
		if t.Warning {
			kind = corev1.EventTypeWarning
		}
		w.Events.Eventf(o, nil, kind, t.Reason, t.Type, "%s", t.Note)
	}
}
