// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/testutil/fakecluster"
	"toolgate.dev/toolgate/test/faults/memory"
)

// note adds a spec to the past.
func (w *walk) note(live *unstructured.Unstructured) error {
	switch live.GetKind() {
	case "MCPServer":
		var s mcpv1alpha1.MCPServer
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, &s); err != nil {
			return fmt.Errorf("reading the server: %w", err)
		}
		pod := &corev1.Pod{}
		if s.Spec.Container != nil {
			pod.Spec.Containers = []corev1.Container{{Image: s.Spec.Container.Image}}
		}
		return w.past.Server(&s, fakecluster.CatalogueOf(catalogue(pod)...))
	case "MCPTool":
		var t mcpv1alpha1.MCPTool
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, &t); err != nil {
			return fmt.Errorf("reading the tool: %w", err)
		}
		w.past.Tool(&t)
	}
	return nil
}

// agree wants the walked namespace to be as a fresh one that remembers the same, and to remember what it has been through.
func (w *walk) agree(ctx context.Context, fresh string) error {
	err := w.Agree(ctx, fresh, w.namespace, func(ctx context.Context) error {
		theirs, err := w.memory(ctx, fresh)
		if err != nil {
			return err
		}
		mine, err := w.memory(ctx, w.namespace)
		if err != nil {
			return err
		}
		return mine.Give(ctx, w.Client, theirs)
	})
	if err != nil {
		return err
	}
	mine, err := w.memory(ctx, w.namespace)
	if err != nil {
		return err
	}
	if err := mine.Judge(w.past, w.remembered); err != nil {
		return fmt.Errorf("what is remembered is wrong: %w", err)
	}
	w.compared.Add(1)
	w.good, w.since, w.remembered = w.specs.copy(), 0, mine
	w.running, err = w.runs(ctx, w.namespace)
	return err
}

func (w *walkers) memory(ctx context.Context, namespace string) (memory.Memory, error) {
	objects, err := w.Objects(ctx, namespace)
	if err != nil {
		return memory.Memory{}, err
	}
	return memory.Of(objects)
}
