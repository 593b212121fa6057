// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers/decide"
	"toolgate.dev/toolgate/controllers/gather"
	"toolgate.dev/toolgate/controllers/kubelet"
	"toolgate.dev/toolgate/controllers/library"
	"toolgate.dev/toolgate/controllers/writes"
	"toolgate.dev/toolgate/internal/registry/shard"
	"toolgate.dev/toolgate/internal/render"
	"toolgate.dev/toolgate/internal/render/document"
)

// RegistryReconciler writes the registry document of each server, and makes kubelets bring it into the pods.
type RegistryReconciler struct {
	Gather  *gather.Gatherer
	Apply   *writes.Applier
	Library *library.Library
	Toucher *kubelet.Toucher
	Clock   clock.PassiveClock
	// Changed tells the server's other reconcilers of what is not in the cluster: that its document can't be written.
	Changed func(*mcpv1alpha1.MCPServer)
}

// Reconcile writes one server's document if its content has changed, and touches pods that enforce an older one.
func (r *RegistryReconciler) Reconcile(ctx context.Context, s *mcpv1alpha1.MCPServer) (reconcile.Result, error) {
	if render.Invalid(s) != "" {
		// The last document of an invalid spec stays in force; the status says what is wrong with the spec.
		return reconcile.Result{}, nil
	}
	d, pods, err := r.Gather.Running(ctx, s)
	if err != nil {
		return reconcile.Result{}, err
	}
	if going(s) {
		// As long as somebody's finalizer holds it, its pods may serve, by the document that is there.
		if there, err := r.Gather.HasDocument(ctx, s); err != nil || !there || !serves(pods) {
			return reconcile.Result{}, err
		}
	}
	in, err := r.Gather.DocumentInput(ctx, s, d, pods)
	if err != nil {
		return reconcile.Result{}, err
	}
	held, refused, err := r.write(ctx, in, pods)
	// An attempt without an answer says nothing of what was refused before, but where there has been none for long.
	if (err == nil || refused != (decide.Refusal{})) && r.Library.Refuse(client.ObjectKeyFromObject(s), refused) {
		r.Changed(s)
	}
	if err != nil || held.Digest == "" {
		return reconcile.Result{RequeueAfter: refusedRetry}, err
	}
	wait, err := r.Toucher.Touch(ctx, pods, held)
	if err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: wait}, nil
}

// write brings the ConfigMaps up to date and gives the document that is in them, and why it is not the one that was asked for.
// Where they could not be written, it gives none.
func (r *RegistryReconciler) write(ctx context.Context, in document.Input, pods []decide.Pod) (library.Held, decide.Refusal, error) {
	files, newest, err := r.next(ctx, in, pods)
	if err == nil {
		err = r.apply(ctx, in.Server, files)
	}
	refused, err := writes.Classify(err)
	refused = r.Library.Answered(client.ObjectKeyFromObject(in.Server), "document", library.Attempt{At: r.Clock.Now(), Refused: refused, Err: err})
	if err != nil || refused != (decide.Refusal{}) {
		return library.Held{}, refused, err
	}
	held := r.Library.Read(client.ObjectKeyFromObject(in.Server), files, files.Load)
	return held, newest.Refused(), nil
}

// next gives the files as they should be, and the document that they are made of.
func (r *RegistryReconciler) next(ctx context.Context, in document.Input, pods []decide.Pod) (shard.Files, *library.Document, error) {
	newest, err := r.Library.Document(in)
	if err != nil {
		return nil, nil, err
	}
	held, err := r.Gather.Written(ctx, in.Server, r.Library)
	if err != nil {
		return nil, nil, err
	}
	files, err := newest.Next(held, pods)
	return files, newest, err
}

// apply writes shards before the root that names them, and takes back those that no root names any more after it: a root never
// names what is not there, and pods that still have the one before keep it.
func (r *RegistryReconciler) apply(ctx context.Context, s *mcpv1alpha1.MCPServer, files shard.Files) error {
	var unneeded []string
	for _, file := range shard.Names() {
		data, needed := files[file]
		if !needed {
			unneeded = append(unneeded, file)
			continue
		}
		live, err := r.Gather.Shard(ctx, s, file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if shard.Same(live, data) {
			data = live // compressed by another release: the text is what counts
		}
		if err := r.applyConfigMap(ctx, s, document.ShardConfigMap(s, file, data)); err != nil {
			return err
		}
	}
	if err := r.applyConfigMap(ctx, s, document.ConfigMap(s, files)); err != nil {
		return err
	}
	for _, file := range unneeded {
		live := &corev1.ConfigMap{ObjectMeta: named(s, render.ShardName(s.Name, file))}
		if err := writes.DeleteOwned(ctx, r.Apply, s, live); err != nil {
			return err
		}
	}
	return nil
}

// applyConfigMap writes one ConfigMap of a server's document, which is ours as a whole.
func (r *RegistryReconciler) applyConfigMap(ctx context.Context, s *mcpv1alpha1.MCPServer, want *corev1ac.ConfigMapApplyConfiguration) error {
	child := writes.Child[*corev1.ConfigMap]{
		Kind:  "ConfigMap",
		Live:  &corev1.ConfigMap{ObjectMeta: named(s, *want.Name)},
		Want:  want,
		Owned: gather.ControlledBy[*corev1.ConfigMap](s),
		Tidy:  r.Apply.RemoveForeign(want),
	}
	if going(s) {
		child.Complete = func(context.Context) (runtime.ApplyConfiguration, error) {
			if child.Live.UID == "" {
				return nil, fmt.Errorf("ConfigMap %s is not there, and nothing is made for an MCPServer that is being deleted", *want.Name)
			}
			return want.WithUID(child.Live.UID), nil
		}
	}
	return writes.Apply(ctx, r.Apply, child)
}

// serves says whether any of the pods does.
func serves(pods []decide.Pod) bool {
	return slices.ContainsFunc(pods, func(p decide.Pod) bool { return p.Serves() })
}

// going says that a server is being deleted. What there is of it is kept true while it serves; nothing is made for it.
func going(s *mcpv1alpha1.MCPServer) bool { return !s.DeletionTimestamp.IsZero() }
