// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/render"
)

// IndexReconciler writes the index of a namespace. Requests name the ConfigMap.
type IndexReconciler struct {
	Gather *Gatherer
	Apply  *Applier
}

// Reconcile brings the index of one namespace up to date; a namespace without servers has none.
func (r *IndexReconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	servers, err := r.Gather.servers(ctx, req.Namespace)
	if err != nil {
		return reconcile.Result{}, err
	}
	if len(servers) == 0 {
		return reconcile.Result{}, r.delete(ctx, req.NamespacedName)
	}
	var tools mcpv1alpha1.MCPToolList
	if err := r.Gather.Client.List(ctx, &tools, client.InNamespace(req.Namespace)); err != nil {
		return reconcile.Result{}, fmt.Errorf("listing MCPTools: %w", err)
	}
	index, err := render.NewIndex(servers, tools.Items)
	if err != nil {
		return reconcile.Result{}, err
	}
	want, err := render.IndexConfigMap(req.Namespace, index)
	if err != nil {
		return reconcile.Result{}, err
	}
	live := &corev1.ConfigMap{}
	live.Namespace, live.Name = req.Namespace, req.Name
	err = apply(ctx, r.Apply, child[*corev1.ConfigMap, *corev1ac.ConfigMapApplyConfiguration]{
		kind: "ConfigMap", live: live, want: want, owned: isIndex, extract: corev1ac.ExtractConfigMap,
	})
	var foreign *foreignError
	switch {
	case errors.As(err, &foreign):
		// The index has no status of its own to say this in, and no server is any the worse for it.
		log.FromContext(ctx).Info("The index of the namespace is not written", "reason", foreign.Error())
		return reconcile.Result{RequeueAfter: refusedRetry}, nil
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return reconcile.Result{}, nil
	}
	return reconcile.Result{}, err
}

func isIndex(cm *corev1.ConfigMap) bool {
	for k, v := range render.IndexLabels() {
		if cm.Labels[k] != v {
			return false
		}
	}
	return true
}

func (r *IndexReconciler) delete(ctx context.Context, key client.ObjectKey) error {
	var cm corev1.ConfigMap
	if err := r.Apply.Client.Get(ctx, key, &cm); err != nil || !isIndex(&cm) {
		return client.IgnoreNotFound(err)
	}
	if err := r.Apply.Client.Delete(ctx, &cm, client.Preconditions{UID: &cm.UID}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting the index: %w", err)
	}
	return nil
}
