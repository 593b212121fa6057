// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package writes_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"toolgate.dev/toolgate/controllers/writes"
)

// TestDelete takes back a ConfigMap, and has an API server that heeds all that a delete may ask for first.
func TestDelete(t *testing.T) {
	now := func(uid, version string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "files", UID: types.UID(uid), ResourceVersion: version}}
	}
	whatever, unchanged := (*writes.Applier).Delete, (*writes.Applier).DeleteUnchanged
	for name, tc := range map[string]struct {
		del  func(*writes.Applier, context.Context, client.Object) error
		now  *corev1.ConfigMap
		gone bool
	}{
		"as it was read":                         {whatever, now("u1", "7"), true},
		"written to since":                       {whatever, now("u1", "8"), true},
		"made again":                             {whatever, now("u2", "7"), false},
		"gone":                                   {whatever, nil, true},
		"if unchanged, as it was read":           {unchanged, now("u1", "7"), true},
		"if unchanged, and written to since":     {unchanged, now("u1", "8"), false},
		"if unchanged, and made again":           {unchanged, now("u2", "7"), false},
		"if unchanged, and gone in the meantime": {unchanged, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			there := tc.now
			api := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
				Delete: func(_ context.Context, _ client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
					asks := ptr.Deref((&client.DeleteOptions{}).ApplyOptions(opts).Preconditions, metav1.Preconditions{})
					switch {
					case there == nil:
						return apierrors.NewNotFound(corev1.Resource("configmaps"), o.GetName())
					case ptr.Deref(asks.UID, there.UID) != there.UID, ptr.Deref(asks.ResourceVersion, there.ResourceVersion) != there.ResourceVersion:
						return apierrors.NewConflict(corev1.Resource("configmaps"), o.GetName(), nil)
					}
					there = nil
					return nil
				},
			}).Build()
			err := tc.del(&writes.Applier{Client: api}, t.Context(), now("u1", "7"))
			if (there == nil) != tc.gone || tc.gone != (err == nil) || err != nil && !apierrors.IsConflict(err) {
				t.Errorf("it is gone: %v (%v), want %v", there == nil, err, tc.gone)
			}
		})
	}
}
