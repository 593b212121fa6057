// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package fakecluster

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
)

// collected are the kinds that go with their owners; owners are the kinds that own.
var (
	owners = []schema.GroupVersionKind{
		mcpv1alpha1.GroupVersion.WithKind("MCPServer"),
		{Group: "apps", Version: "v1", Kind: "Deployment"},
		{Group: "apps", Version: "v1", Kind: "ReplicaSet"},
	}
	collected = append([]schema.GroupVersionKind{
		mcpv1alpha1.GroupVersion.WithKind("MCPTool"),
		{Version: "v1", Kind: "Pod"},
		{Version: "v1", Kind: "Service"},
		{Version: "v1", Kind: "ServiceAccount"},
		{Version: "v1", Kind: "ConfigMap"},
		{Version: "v1", Kind: "Secret"},
		{Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"},
		{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"},
	}, owners[1:]...)
)

// collector deletes objects of one kind whose owners are gone.
type collector struct {
	*Cluster
	kind schema.GroupVersionKind
}

func (c *Cluster) collect(mgr ctrl.Manager) error {
	for _, kind := range collected {
		gc := &collector{Cluster: c, kind: kind}
		b := ctrl.NewControllerManagedBy(mgr).Named("fake-collector-"+strings.ToLower(kind.Kind)).
			WatchesMetadata(metadata(kind), &handler.EnqueueRequestForObject{})
		for _, owner := range owners {
			b = b.WatchesMetadata(metadata(owner), gc.orphans())
		}
		if err := b.Complete(gc); err != nil {
			return fmt.Errorf("setting up the collector of %s: %w", kind.Kind, err)
		}
	}
	return nil
}

func metadata(kind schema.GroupVersionKind) *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{}
	o.SetGroupVersionKind(kind)
	return o
}

// orphans maps an owner that was deleted to what it owned.
func (c *collector) orphans() handler.EventHandler {
	return handler.Funcs{DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(c.kind)
		if err := c.client.List(ctx, list, client.InNamespace(e.Object.GetNamespace())); err != nil {
			return
		}
		for i := range list.Items {
			for _, ref := range list.Items[i].OwnerReferences {
				if ref.UID == e.Object.GetUID() {
					q.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
				}
			}
		}
	}}
}

// Reconcile deletes one object if none of its owners is there any more.
func (c *collector) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	o := metadata(c.kind)
	if err := c.client.Get(ctx, req.NamespacedName, o); err != nil || len(o.OwnerReferences) == 0 || !o.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	for _, ref := range o.OwnerReferences {
		there, err := c.exists(ctx, req.Namespace, ref)
		if err != nil || there {
			return reconcile.Result{}, err
		}
	}
	uid := o.GetUID()
	err := c.client.Delete(ctx, o, client.Preconditions{UID: &uid}, client.GracePeriodSeconds(0))
	return reconcile.Result{}, client.IgnoreNotFound(err)
}

// exists asks the cache, and past it before it says no.
func (c *collector) exists(ctx context.Context, namespace string, ref metav1.OwnerReference) (bool, error) {
	kind := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	for _, reader := range []client.Reader{c.client, c.live} {
		o := metadata(kind)
		err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: ref.Name}, o)
		if err == nil && o.UID == ref.UID {
			return true, nil
		}
		if err != nil && !apierrors.IsNotFound(err) {
			return false, fmt.Errorf("looking for the owner %s %s: %w", ref.Kind, ref.Name, err)
		}
	}
	return false, nil
}
