// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package triggers

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Hub carries what happens outside of the cluster's objects to the reconcilers that want to know: that a pod has said
// something new. It holds nothing back and drops nothing: a queue keeps each request once.
type Hub struct {
	mu   sync.Mutex
	subs []func(types.NamespacedName)
}

// Changed says that something is new about a server. It does not block.
func (h *Hub) Changed(key types.NamespacedName) {
	h.mu.Lock()
	subs := h.subs
	h.mu.Unlock()
	for _, sub := range subs {
		sub(key)
	}
}

// Source feeds a controller with the requests that requests makes of a server, each after wait.
func (h *Hub) Source(wait time.Duration, requests func(context.Context, types.NamespacedName) []reconcile.Request) source.Source {
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.subs = append(h.subs, func(key types.NamespacedName) {
			for _, req := range requests(ctx, key) {
				queue.AddAfter(req, wait)
			}
		})
		return nil
	})
}
