// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package measured

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/test/faults/rig"
)

// Servers watches all MCPServers, which costs less than to list thousands again and again.
type Servers struct {
	mu    sync.Mutex
	ready map[client.ObjectKey]bool
}

// WatchServers watches until its context ends. A server counts as ready with as many tools as tools says of its image.
func WatchServers(ctx context.Context, r *rig.Rig, tools func(image string) int) (*Servers, error) {
	c, err := cache.New(r.Config, cache.Options{Scheme: r.Scheme, DefaultTransform: cache.TransformStripManagedFields()})
	if err != nil {
		return nil, fmt.Errorf("watching servers: %w", err)
	}
	s := &Servers{ready: map[client.ObjectKey]bool{}}
	informer, err := c.GetInformer(ctx, &mcpv1alpha1.MCPServer{}, cache.BlockUntilSynced(false))
	if err != nil {
		return nil, fmt.Errorf("watching servers: %w", err)
	}
	seen := func(o any) {
		server := o.(*mcpv1alpha1.MCPServer)
		status := &server.Status
		s.mu.Lock()
		defer s.mu.Unlock()
		s.ready[client.ObjectKeyFromObject(server)] = status.ObservedGeneration == server.Generation &&
			meta.IsStatusConditionTrue(status.Conditions, mcpv1alpha1.ConditionReady) &&
			status.ToolsCount != nil && int(*status.ToolsCount) == tools(server.Spec.Container.Image)
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: seen, UpdateFunc: func(_, o any) { seen(o) },
		DeleteFunc: func(o any) {
			if server, ok := o.(*mcpv1alpha1.MCPServer); ok {
				s.mu.Lock()
				defer s.mu.Unlock()
				delete(s.ready, client.ObjectKeyFromObject(server))
			}
		},
	})
	if err != nil {
		return nil, fmt.Errorf("watching servers: %w", err)
	}
	go func() { _ = c.Start(ctx) }()
	if !c.WaitForCacheSync(ctx) {
		return nil, fmt.Errorf("watching servers: %w", context.Cause(ctx))
	}
	return s, nil
}

// Ready counts the servers that are, in one namespace, or in all for "".
func (s *Servers) Ready(namespace string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for key, ready := range s.ready {
		if ready && (namespace == "" || key.Namespace == namespace) {
			n++
		}
	}
	return n
}
