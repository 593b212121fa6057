// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/test/faults/rig"
)

// Images whose servers list different tools.
const (
	firstImage  = "example.com/files:1"
	secondImage = "example.com/files:2"
	fiveTools   = "example.com/files:5"
	// manyTools is followed by how many.
	manyTools = "example.com/files:many-"
)

// person writes objects of one namespace as people do: conflicts are tried again.
type person struct {
	*rig.Rig
	namespace string
	// lag is how much longer they wait, where the manager's view is late.
	lag time.Duration
}

// patience is how long they wait for a state.
func (p person) patience() time.Duration { return rig.Patience + p.lag }

func (p person) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: p.namespace, Name: name}
}

// server builds a stdio server.
func (p person) server(name string) *mcpv1alpha1.MCPServer {
	return &mcpv1alpha1.MCPServer{
		ObjectMeta: p.meta(name),
		Spec: mcpv1alpha1.MCPServerSpec{
			Container: &mcpv1alpha1.Container{Image: firstImage, Command: []string{"files"}},
		},
	}
}

// ruleSet builds a set of one rule in CEL.
func (p person) ruleSet(name, when string) *mcpv1alpha1.RuleSet {
	return &mcpv1alpha1.RuleSet{
		ObjectMeta: p.meta(name),
		Spec: mcpv1alpha1.RuleSetSpec{
			Type: mcpv1alpha1.RuleSetSafety, Format: mcpv1alpha1.RuleFormatCEL,
			Rules: []mcpv1alpha1.Rule{{Name: "rule", Action: mcpv1alpha1.ActionReject, When: when, Message: "not now"}},
		},
	}
}

func (p person) create(ctx context.Context, objects ...client.Object) error {
	for _, o := range objects {
		if err := p.Client.Create(ctx, o); err != nil {
			return fmt.Errorf("creating %T %s: %w", o, o.GetName(), err)
		}
	}
	return nil
}

// edit changes an object that is there.
func edit[O client.Object](ctx context.Context, p person, o O, name string, change func(O)) error {
	o.SetNamespace(p.namespace)
	o.SetName(name)
	err := retry.OnError(retry.DefaultBackoff, apierrors.IsConflict, func() error {
		if err := p.Client.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		change(o)
		return p.Client.Update(ctx, o)
	})
	if err != nil {
		return fmt.Errorf("changing %T %s: %w", o, name, err)
	}
	return nil
}

func (p person) editServer(ctx context.Context, change func(*mcpv1alpha1.MCPServerSpec)) error {
	return edit(ctx, p, &mcpv1alpha1.MCPServer{}, "files", func(s *mcpv1alpha1.MCPServer) { change(&s.Spec) })
}

func (p person) delete(ctx context.Context, o client.Object) error {
	if err := p.Client.Delete(ctx, o); err != nil {
		return fmt.Errorf("deleting %T %s: %w", o, o.GetName(), err)
	}
	return nil
}
