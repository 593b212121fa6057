// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers/applied"
	"toolgate.dev/toolgate/controllers/gather"
	"toolgate.dev/toolgate/controllers/writes"
	"toolgate.dev/toolgate/internal/render"
	"toolgate.dev/toolgate/internal/render/index"
)

// IndexReconciler writes the index of a namespace. Requests name the ConfigMap.
type IndexReconciler struct {
	Gather *gather.Gatherer
	Apply  *writes.Applier
}

// Reconcile brings the index of one namespace up to date; a namespace without servers has none.
func (r *IndexReconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	servers, err := r.Gather.Servers(ctx, req.Namespace)
	if err != nil {
		return reconcile.Result{}, err
	}
	want := map[string]*corev1ac.ConfigMapApplyConfiguration{}
	if len(servers) > 0 {
		if want, err = r.render(ctx, req.Namespace, servers); err != nil {
			return reconcile.Result{}, err
		}
	}
	err = r.apply(ctx, req.Namespace, want)
	var foreign *writes.ForeignError
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

// render gives the ConfigMaps of the index by name.
func (r *IndexReconciler) render(ctx context.Context, namespace string, servers []mcpv1alpha1.MCPServer) (map[string]*corev1ac.ConfigMapApplyConfiguration, error) {
	var tools mcpv1alpha1.MCPToolList
	if err := r.Gather.Client.List(ctx, &tools, client.InNamespace(namespace), client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency); err != nil {
		return nil, fmt.Errorf("listing MCPTools: %w", err)
	}
	content := index.New(servers, tools.Items)
	sharded, err := r.sharded(ctx, namespace)
	if err != nil {
		return nil, err
	}
	want, err := index.ConfigMaps(namespace, content, sharded)
	if err != nil {
		return nil, err
	}
	if message := index.Error(want[render.IndexName]); message != "" {
		log.FromContext(ctx).Info("The index of the namespace is not written", "reason", message)
	}
	return want, nil
}

// sharded says whether the index of a namespace is in shards now.
func (r *IndexReconciler) sharded(ctx context.Context, namespace string) (bool, error) {
	for _, name := range index.Names()[1:] {
		var cm corev1.ConfigMap
		err := r.Gather.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &cm)
		switch {
		case client.IgnoreNotFound(err) != nil:
			return false, fmt.Errorf("reading the index: %w", err)
		case err == nil && isIndex(&cm):
			return true, nil
		}
	}
	return false, nil
}

// apply writes shards before the root that names them, and takes back what is not needed after it.
func (r *IndexReconciler) apply(ctx context.Context, namespace string, want map[string]*corev1ac.ConfigMapApplyConfiguration) error {
	names := index.Names()
	for _, name := range append(slices.Clone(names[1:]), names[0]) {
		cm, needed := want[name]
		if !needed {
			continue
		}
		live := &corev1.ConfigMap{}
		live.Namespace, live.Name = namespace, name
		err := writes.Apply(ctx, r.Apply, writes.Child[*corev1.ConfigMap]{
			Kind: "ConfigMap", Live: live, Want: cm, Owned: isIndexOrEmpty, Tidy: r.Apply.RemoveForeign(cm),
		})
		if err != nil {
			return err
		}
	}
	for _, name := range names {
		if _, needed := want[name]; needed {
			continue
		}
		if err := r.delete(ctx, client.ObjectKey{Namespace: namespace, Name: name}, len(want) == 0); err != nil {
			return err
		}
	}
	return nil
}

// inhabited asks the API server itself whether a namespace has servers. A view that is late shows none for a while where one
// is made again, and the index that clients read would go and come.
func (r *IndexReconciler) inhabited(ctx context.Context, namespace string) (bool, error) {
	var servers mcpv1alpha1.MCPServerList
	if err := r.Apply.Live.List(ctx, &servers, client.InNamespace(namespace), client.Limit(1)); err != nil {
		return false, fmt.Errorf("listing MCPServers: %w", err)
	}
	return len(servers.Items) > 0, nil
}

// isIndex says that an object is ours: it has our labels, or we have applied it and somebody took them off.
func isIndex(cm *corev1.ConfigMap) bool {
	labelled := true
	for k, v := range render.IndexLabels() {
		labelled = labelled && cm.Labels[k] == v
	}
	applied.Reduce(cm)
	return labelled || applied.Of(cm) != applied.Mark{}
}

// isIndexOrEmpty also takes what has the name and nothing in it, and belongs to nobody. Of an index whose labels and content were
// both taken away nothing else is left, and of anybody else's nothing can be lost.
func isIndexOrEmpty(cm *corev1.ConfigMap) bool {
	return isIndex(cm) || len(cm.Data) == 0 && len(cm.BinaryData) == 0 && len(cm.OwnerReferences) == 0
}

// delete takes a ConfigMap of the index back; whole says that all of it is to go.
func (r *IndexReconciler) delete(ctx context.Context, key client.ObjectKey, whole bool) error {
	var cm corev1.ConfigMap
	if err := r.Apply.Client.Get(ctx, key, &cm); err != nil || !isIndex(&cm) {
		return client.IgnoreNotFound(err)
	}
	if whole {
		if inhabited, err := r.inhabited(ctx, key.Namespace); inhabited || err != nil {
			return err
		}
	}
	if err := r.Apply.Delete(ctx, &cm); err != nil {
		return fmt.Errorf("deleting the index: %w", err)
	}
	return nil
}
