// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package reads_test

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"toolgate.dev/toolgate/controllers/reads"
)

var key = client.ObjectKey{Namespace: "ns", Name: "files"}

func object() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
}

// waiting is a cache that never has what was written.
func waiting() client.Client {
	return interceptor.NewClient(fake.NewClientBuilder().WithObjects(object()).Build(), interceptor.Funcs{
		Get: func(ctx context.Context, _ client.WithWatch, _ client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
			<-ctx.Done()
			return ctx.Err()
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if !(&client.ListOptions{}).ApplyOptions(opts).DisableReadYourWritesConsistency {
				<-ctx.Done()
				return ctx.Err()
			}
			return c.List(ctx, list, opts...)
		},
	})
}

func TestWhatTheCacheNeverGetsToKnowIsReadFromTheServer(t *testing.T) {
	for name, tc := range map[string]struct {
		live     client.Reader
		wantGone bool
	}{
		"an object that is there":    {live: fake.NewClientBuilder().WithObjects(object()).Build()},
		"an object that was deleted": {live: fake.NewClientBuilder().Build(), wantGone: true},
	} {
		t.Run(name, func(t *testing.T) {
			b := &reads.Bounded{Client: waiting(), Live: tc.live, Patience: time.Millisecond}
			err := b.Get(t.Context(), key, &corev1.ConfigMap{})
			if apierrors.IsNotFound(err) != tc.wantGone || err != nil && !tc.wantGone {
				t.Errorf("reading it gives %v", err)
			}
		})
	}
}

func TestAListIsTakenAsItIsAtTheEndOfTheWait(t *testing.T) {
	b := &reads.Bounded{Client: waiting(), Patience: time.Millisecond}
	var list corev1.ConfigMapList
	if err := b.List(t.Context(), &list, client.InNamespace(key.Namespace)); err != nil || len(list.Items) != 1 {
		t.Errorf("the list has %d items: %v", len(list.Items), err)
	}
}

func TestAReadThatIsGivenUpIsNoReadOfTheServer(t *testing.T) {
	b := &reads.Bounded{Client: waiting(), Patience: time.Hour}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Get(ctx, key, &corev1.ConfigMap{}); !errors.Is(err, context.Canceled) {
		t.Errorf("reading it gives %v", err)
	}
}
