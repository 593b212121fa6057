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
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/render"
)

// RegistryReconciler writes the registry document of each server, and makes kubelets bring it into the pods.
type RegistryReconciler struct {
	Gather  *Gatherer
	Apply   *Applier
	Library *Library
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
	deployment, err := r.Gather.deployment(ctx, s)
	if err != nil {
		return reconcile.Result{}, err
	}
	pods, err := r.Gather.pods(ctx, s, deployment)
	if err != nil {
		return reconcile.Result{}, err
	}
	data, err := r.write(ctx, s, pods)
	refused, err := classify(err)
	if r.Library.setDocumentError(keyOf(s), refused) {
		r.Changed(s)
	}
	if err != nil || refused != (decide.Refusal{}) {
		return reconcile.Result{RequeueAfter: refusedRetry}, err
	}
	wait, err := r.Toucher.Touch(ctx, pods, r.Library.remember(keyOf(s), data))
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
func (r *RegistryReconciler) write(ctx context.Context, s *mcpv1alpha1.MCPServer, pods []decide.Pod) ([]byte, error) {
	doc, err := wanted(ctx, r.Gather, r.Library, s, pods)
	if err != nil {
		return nil, err
	}
	live, err := r.Gather.document(ctx, s)
	if err != nil {
		return nil, err
	}
	data, err := sequence(doc, live, pods)
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

// wanted is the document that the objects ask for now.
func wanted(ctx context.Context, g *Gatherer, l *Library, s *mcpv1alpha1.MCPServer, pods []decide.Pod) (*registry.Document, error) {
	tools, err := g.tools(ctx, keyOf(s))
	if err != nil {
		return nil, err
	}
	sets, err := g.ruleSets(ctx, s.Namespace)
	if err != nil {
		return nil, err
	}
	doc, err := render.Document(render.DocumentInput{
		Server:    s,
		Tools:     tools,
		RuleSets:  sets,
		Broken:    l.broken(sets),
		Revisions: revisionsOf(pods),
	})
	if err != nil {
		return nil, fmt.Errorf("rendering the registry document: %w", err)
	}
	return doc, nil
}

// sequence encodes the document under the sequence that it needs: that of the live one while nothing has changed, else the
// next. Dispatchers remember the highest that they have seen, so a ConfigMap that was deleted and starts over must come out
// above that, or it would be refused.
func sequence(doc *registry.Document, live []byte, pods []decide.Pod) ([]byte, error) {
	next := int64(1)
	if live != nil {
		if last, err := registry.Decode(live); err == nil {
			doc.Sequence = last.Sequence
			next = last.Sequence + 1
		}
	}
	var digest string
	if doc.Sequence > 0 {
		data, same, err := doc.Encode()
		if err != nil {
			return nil, err
		}
		digest = same
		if digest == registry.Digest(live) && !overtaken(doc.Sequence, digest, pods) {
			return data, nil
		}
	}
	for i := range pods {
		if state := pods[i].Seen.State; state != nil && state.Registry.Digest != digest {
			next = max(next, state.Registry.Sequence+1)
		}
	}
	doc.Sequence = next
	data, _, err := doc.Encode()
	return data, err
}

// holds says whether the live document is this one, but for its sequence.
func holds(live []byte, doc *registry.Document) bool {
	last, err := registry.Decode(live)
	if err != nil {
		return false
	}
	same := *doc
	same.Sequence = last.Sequence
	_, digest, err := same.Encode()
	return err == nil && digest == registry.Digest(live)
}

// overtaken says whether a pod has seen another document under this sequence or a higher one.
func overtaken(seq int64, digest string, pods []decide.Pod) bool {
	for i := range pods {
		state := pods[i].Seen.State
		if state != nil && state.Registry.Digest != "" && state.Registry.Digest != digest && state.Registry.Sequence >= seq {
			return true
		}
	}
	return false
}

// refusalOf is the part of classify that knows of documents.
func refusalOf(err error) (decide.Refusal, bool) {
	var large *tooLargeError
	if errors.As(err, &large) {
		return decide.Refusal{Reason: mcpv1alpha1.ReasonRegistryTooLarge, Message: large.Error()}, true
	}
	return decide.Refusal{}, false
}
