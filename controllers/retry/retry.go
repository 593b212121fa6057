// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package retry owns how soon a controller tries again what has failed. It knows of no controller and of no object.
package retry

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// The first attempt after a failure follows at once, in human terms, each further one after twice as long. Most is how
// late at most a server is once the API server answers again, however long it did not: the default of controller-runtime,
// 1,000 seconds, would let it wait for a quarter of an hour.
const (
	First = 5 * time.Millisecond
	Most  = 15 * time.Second
)

// Limiter spaces the attempts at each object. Those at different objects do not wait for one another.
func Limiter() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](First, Most)
}
