// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// view is what is in all namespaces, kept by watches: hundreds of them are looked at all the time, and lists would take
// most of the machine. It is behind the API server by milliseconds.
type view struct {
	cache.Cache
	mu sync.Mutex
	// waiting are closed at the next change of a namespace.
	waiting map[string]chan struct{}
}

// startView watches all kinds that make up a state until ctx ends, and waits until it has seen what is there.
func (r *Rig) startView(ctx context.Context) error {
	c, err := cache.New(r.Config, cache.Options{Scheme: r.Scheme, ReaderFailOnMissingInformer: true})
	if err != nil {
		return fmt.Errorf("making the view: %w", err)
	}
	v := &view{Cache: c, waiting: map[string]chan struct{}{}}
	go func() { _ = c.Start(ctx) }()
	for _, kind := range kinds {
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(kind)
		informer, err := c.GetInformer(ctx, o)
		if err != nil {
			return fmt.Errorf("watching %s: %w", kind.Kind, err)
		}
		_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    v.told,
			UpdateFunc: func(_, now any) { v.told(now) },
			DeleteFunc: v.told,
		})
		if err != nil {
			return fmt.Errorf("watching %s: %w", kind.Kind, err)
		}
	}
	r.view = v
	return nil
}

func (v *view) told(o any) {
	if last, gone := o.(toolscache.DeletedFinalStateUnknown); gone {
		o = last.Obj
	}
	object, ok := o.(client.Object)
	if !ok {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	ns := object.GetNamespace()
	if ch, ok := v.waiting[ns]; ok {
		close(ch)
		delete(v.waiting, ns)
	}
}

// changed is closed at the next change in a namespace. Who reads the namespace after asking for it misses none.
func (v *view) changed(namespace string) <-chan struct{} {
	v.mu.Lock()
	defer v.mu.Unlock()
	ch, ok := v.waiting[namespace]
	if !ok {
		ch = make(chan struct{})
		v.waiting[namespace] = ch
	}
	return ch
}

// Seen reads one object as the watches tell of it.
func (r *Rig) Seen(ctx context.Context, key client.ObjectKey, o *unstructured.Unstructured) error {
	return r.view.Get(ctx, key, o)
}

// next waits for a change, at most so long; false when there was none.
func next(ctx context.Context, changed <-chan struct{}, most time.Duration) (bool, error) {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false, context.Cause(ctx)
	case <-changed:
		return true, nil
	case <-timer.C:
		return false, nil
	}
}
