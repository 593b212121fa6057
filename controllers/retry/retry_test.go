// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package retry_test

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"toolgate.dev/toolgate/controllers/retry"
)

func TestNothingWaitsLongAfterAnOutage(t *testing.T) {
	failing := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: "files"}}
	l := retry.Limiter()
	if got := l.When(failing); got != retry.First {
		t.Errorf("the first attempt after a failure is %v later", got)
	}
	var lasted, got time.Duration
	for range 100 {
		got = l.When(failing)
		lasted += got
	}
	if got != 15*time.Second {
		t.Errorf("after an outage of %v the next attempt may be %v later", lasted, got)
	}
	other := failing
	other.Name = "other"
	if got := l.When(other); got != retry.First {
		t.Errorf("an object waits %v for the failures of another", got)
	}
}
