// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/test/faults/proxy"
	"toolgate.dev/toolgate/test/faults/rig"
)

// darkness loses what happens to MCPServers from the moment on that it falls, for some seconds.
type darkness struct{ fallen atomic.Bool }

// Stream implements proxy.Watches.
func (d *darkness) Stream(c proxy.Call) proxy.Stream {
	if c.Resource != "mcpservers" {
		return nil
	}
	return d
}

// Next implements proxy.Stream.
func (d *darkness) Next(proxy.Event) proxy.Fate {
	if d.fallen.Load() {
		return proxy.Fate{Lost: 5 * time.Second}
	}
	return proxy.Fate{}
}

// TestAServerIsWrittenAndDeletedInTheDark lets a watch miss both the manager's last write to a server and that the server was
// deleted. A list anew then shows no trace of that write, for which reads wait.
func TestAServerIsWrittenAndDeletedInTheDark(t *testing.T) {
	r := need(t)
	p, dark := person{Rig: r, namespace: namespace(t, r)}, &darkness{}
	m := manager(t, r, rig.ManagerOptions{Namespaces: []string{p.namespace}, Options: proxy.Options{Watches: dark}})
	if err := withRules(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Rest(t.Context(), p.namespace, quiet); err != nil {
		t.Fatal(err)
	}
	dark.fallen.Store(true)
	before := len(m.Writes())
	if err := p.create(t.Context(), p.ruleSet("more", "'path' in args")); err != nil {
		t.Fatal(err)
	}
	err := await(t.Context(), "a status of the new rules", func() (bool, error) {
		return slices.ContainsFunc(m.Writes()[before:], func(c proxy.Call) bool { return c.Resource == "mcpservers/status" }), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.delete(t.Context(), p.server("files")); err != nil {
		t.Fatal(err)
	}
	// The watch that begins after the darkness is a clear one.
	err = await(t.Context(), "a namespace without a server", func() (bool, error) {
		dark.fallen.Store(m.Count("watch", "mcpservers") < 2)
		err := r.Client.Get(t.Context(), client.ObjectKey{Namespace: p.namespace, Name: "mcp-registry"}, &corev1.ConfigMap{})
		if !apierrors.IsNotFound(err) {
			return false, err
		}
		var tool mcpv1alpha1.MCPTool
		if err := r.Client.Get(t.Context(), client.ObjectKey{Namespace: p.namespace, Name: "files.write-file"}, &tool); err != nil {
			return false, err
		}
		c := meta.FindStatusCondition(tool.Status.Conditions, mcpv1alpha1.ConditionCallable)
		return c != nil && c.Reason == mcpv1alpha1.ReasonGone, nil
	})
	if err != nil {
		t.Error(err)
	}
}
