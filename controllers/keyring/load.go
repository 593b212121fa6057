// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package keyring

import (
	"context"
	"crypto/rand"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"toolgate.dev/toolgate/internal/registry/statekey"
	"toolgate.dev/toolgate/internal/render"
)

// SecretName is the manager's own Secret, in its own namespace.
const SecretName = "toolgate-state-keys" //nolint:gosec // a name and no credential

// Its keys: the secret that keys are derived from, and the one before while it is being replaced.
const (
	dataCurrent  = "current"
	dataPrevious = "previous"
)

// Load reads the manager's own Secret, and makes it where there is none. The client must read past any cache: nothing may list
// or watch Secrets.
func Load(ctx context.Context, c client.Client, namespace string) (*Ring, error) {
	own := &corev1.Secret{}
	key := client.ObjectKey{Namespace: namespace, Name: SecretName}
	err := c.Get(ctx, key, own)
	if apierrors.IsNotFound(err) {
		// Of two managers that start at once, one makes it and both read it.
		if err = c.Create(ctx, fresh(namespace)); err == nil || apierrors.IsAlreadyExists(err) {
			err = c.Get(ctx, key, own)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("reading or making Secret %s in namespace %s, which servers' keys are derived from: %w", SecretName, namespace, err)
	}
	current, err := secretOf(own, dataCurrent)
	if err != nil {
		return nil, err
	}
	if _, ok := own.Data[dataPrevious]; !ok {
		return New(current), nil
	}
	previous, err := secretOf(own, dataPrevious)
	if err != nil {
		return nil, err
	}
	return New(current, previous), nil
}

func fresh(namespace string) *corev1.Secret {
	secret := make([]byte, statekey.Size)
	_, _ = rand.Read(secret) // it never fails (crypto/rand)
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: SecretName, Labels: map[string]string{render.LabelManagedBy: render.ManagedBy, render.LabelComponent: "manager"},
		},
		Data: map[string][]byte{dataCurrent: secret},
	}
}

func secretOf(own *corev1.Secret, name string) ([statekey.Size]byte, error) {
	data := own.Data[name]
	if len(data) != statekey.Size {
		return [statekey.Size]byte{}, fmt.Errorf("secret %s in namespace %s: %s has %d bytes and needs %d random ones; delete the Secret to have it made anew",
			own.Name, own.Namespace, name, len(data), statekey.Size)
	}
	return [statekey.Size]byte(data), nil
}
