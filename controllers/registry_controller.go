// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers/decide"
	"toolgate.dev/toolgate/controllers/library"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/render"
)

// RegistryReconciler writes the registry document of each server, and makes kubelets bring it into the pods.
type RegistryReconciler struct {
	Gather  *Gatherer
	Apply   *Applier
	Library *library.Library
	Toucher *Toucher
	// Changed tells the server's other reconcilers of what is not in the cluster: that its document can't be written.
	Changed func(*mcpv1alpha1.MCPServer)
}

// Reconcile writes one server's document if its content has changed, and touches pods that enforce an older one.
func (r *RegistryReconciler) Reconcile(ctx context.Context, s *mcpv1alpha1.MCPServer) (reconcile.Result, error) {
	if !s.DeletionTimestamp.IsZero() || render.Invalid(s) != "" {
		// The last document of an invalid spec stays in force; the status says what is wrong with the spec.
		return reconcile.Result{}, nil
	}
	d, pods, err := r.Gather.running(ctx, s)
	if err != nil {
		return reconcile.Result{}, err
	}
	in, err := r.Gather.documentInput(ctx, s, d, pods)
	if err != nil {
		return reconcile.Result{}, err
	}
	data, err := r.write(ctx, in, pods)
	refused, err := classify(err)
	if r.Library.Refuse(keyOf(s), refused) {
		r.Changed(s)
	}
	if err != nil || refused != (decide.Refusal{}) {
		return reconcile.Result{RequeueAfter: refusedRetry}, err
	}
	wait, err := r.Toucher.Touch(ctx, pods, r.Library.Read(keyOf(s), data).Digest)
	if err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: wait}, nil
}

// tooLargeError says that a document does not fit into its ConfigMap.
type tooLargeError struct{ size int }

func (e *tooLargeError) Error() string {
	return fmt.Sprintf("the registry document has %d bytes and its ConfigMap holds %d; the last one stays in force: shorten rules, or split the server", e.size, registry.MaxBytes)
}

// write brings the ConfigMap up to date and gives the document that is in it.
func (r *RegistryReconciler) write(ctx context.Context, in render.DocumentInput, pods []decide.Pod) ([]byte, error) {
	s := in.Server
	newest, err := r.Library.Document(in)
	if err != nil {
		return nil, err
	}
	live, err := r.Gather.document(ctx, s)
	if err != nil {
		return nil, err
	}
	data, err := newest.Next(r.Library.Read(keyOf(s), live), pods)
	if err != nil {
		return nil, err
	}
	if len(data) > registry.MaxBytes {
		return nil, &tooLargeError{size: len(data)}
	}
	return data, apply(ctx, r.Apply, child[*corev1.ConfigMap, *corev1ac.ConfigMapApplyConfiguration]{
		kind:    "ConfigMap",
		live:    &corev1.ConfigMap{ObjectMeta: named(s, render.RegistryName(s.Name))},
		want:    render.RegistryConfigMap(s, data),
		owned:   controlledBy[*corev1.ConfigMap](s),
		extract: corev1ac.ExtractConfigMap,
	})
}

// refusalOf is the part of classify that knows of documents.
func refusalOf(err error) (decide.Refusal, bool) {
	var large *tooLargeError
	if errors.As(err, &large) {
		return decide.Refusal{Reason: mcpv1alpha1.ReasonRegistryTooLarge, Message: large.Error()}, true
	}
	return decide.Refusal{}, false
}
