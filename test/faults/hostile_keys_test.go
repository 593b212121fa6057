// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/registry/statekey"
	"toolgate.dev/toolgate/internal/render"
	"toolgate.dev/toolgate/test/faults/rig"
)

// TestHostileStateOfKeys lets somebody change, delete and replace the Secret of a server's key, which the manager can't read: the
// first is refused, the second healed as soon as a pod needs it, and by the third nobody is believed, until it is taken away.
func TestHostileStateOfKeys(t *testing.T) {
	r, began := need(t), time.Now()
	m := manager(t, r, rig.ManagerOptions{})
	clean, err := rehearse(t.Context(), r, m, scenario{name: "at rest", before: nothing, then: withRules})
	if err != nil {
		t.Fatal(err)
	}
	ctx, p := t.Context(), person{Rig: r, namespace: clean.namespace}
	t.Cleanup(func() {
		if err := r.Clear(context.WithoutCancel(ctx), clean.namespace); err != nil {
			t.Error(err)
		}
	})
	healed := func(after string) {
		t.Helper()
		if _, err := r.Reach(ctx, p.namespace, clean.after); err != nil {
			t.Fatalf("after it was %s: %v", after, err)
		}
	}
	ours, err := p.keySecret(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, data := range []string{`{"data":{"key":"AAAA"}}`, `{"data":null}`, `{"immutable":false}`} {
		if err := r.Client.Patch(ctx, ours.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(data))); !apierrors.IsInvalid(err) {
			t.Errorf("%s: %v", data, err)
		}
	}

	for range 2 {
		if err := errors.Join(p.delete(ctx, ours.DeepCopy()), p.restart(ctx)); err != nil {
			t.Fatal(err)
		}
		healed("deleted")
	}

	theirs := &corev1.Secret{ObjectMeta: p.meta(ours.Name), Data: map[string][]byte{statekey.FileName: make([]byte, statekey.Size)}}
	if err := errors.Join(p.delete(ctx, ours.DeepCopy()), p.create(ctx, theirs), p.restart(ctx)); err != nil {
		t.Fatal(err)
	}
	if err := p.awaitDisbelief(ctx); err != nil {
		t.Fatal(err)
	}

	if err := errors.Join(p.delete(ctx, theirs), p.restart(ctx)); err != nil {
		t.Fatal(err)
	}
	healed("replaced and theirs deleted")
	figures(t, began, "3 changes refused, 3 deletions healed, 1 replacement not believed")
}

// keySecret is that of the one server of a namespace.
func (p person) keySecret(ctx context.Context) (*corev1.Secret, error) {
	var list corev1.SecretList
	if err := p.Client.List(ctx, &list, client.InNamespace(p.namespace)); err != nil {
		return nil, fmt.Errorf("listing Secrets: %w", err)
	}
	if len(list.Items) != 1 {
		return nil, fmt.Errorf("%d Secrets in namespace %s, want the one of the server's key", len(list.Items), p.namespace)
	}
	return &list.Items[0], nil
}

// restart deletes the pods of the server, so that new ones mount its key.
func (p person) restart(ctx context.Context) error {
	err := p.Client.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(p.namespace), client.MatchingLabels{render.LabelServer: "files"}, client.GracePeriodSeconds(0))
	if err != nil {
		return fmt.Errorf("deleting the server's pods: %w", err)
	}
	return nil
}

// awaitDisbelief waits until the server says that somebody else answers in its dispatcher's place.
func (p person) awaitDisbelief(ctx context.Context) error {
	began := time.Now()
	for {
		var s mcpv1alpha1.MCPServer
		if err := p.Client.Get(ctx, client.ObjectKey{Namespace: p.namespace, Name: "files"}, &s); err != nil {
			return fmt.Errorf("reading the server: %w", err)
		}
		enforced := meta.FindStatusCondition(s.Status.Conditions, mcpv1alpha1.ConditionEnforced)
		if enforced != nil && enforced.Reason == mcpv1alpha1.ReasonStateNotAuthentic && !meta.IsStatusConditionTrue(s.Status.Conditions, mcpv1alpha1.ConditionReady) {
			return nil
		}
		if time.Since(began) > rig.Patience {
			return fmt.Errorf("a dispatcher with another key is believed: Enforced is %+v", enforced)
		}
		if err := rig.Wait(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
}
