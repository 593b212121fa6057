// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package applied

import (
	"crypto/sha256"
	"encoding/json"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/lru"
)

// remembered is how many Deployments a Memory has in mind: those that are being rolled out at one time, some hundred bytes each.
const remembered = 1024

// Memory reduces as Reduce does, and takes what we have applied out of a Deployment once, not anew for each step of its status: a
// rollout brings ten of these. The spec of a Deployment has a generation, so that what was found of it stays true as long as that
// and the metadata are the same. It is safe for concurrent use.
type Memory struct {
	known *lru.Cache
}

// found is what an extraction gives.
type found struct {
	mark Mark
	// annotations are shared, and nobody writes to them: they are those of objects in a cache.
	annotations map[string]string
}

// NewMemory makes a Memory that knows nothing yet.
func NewMemory() *Memory { return &Memory{known: lru.New(remembered)} }

// Reduce does what the function does.
func (m *Memory) Reduce(o any) {
	d, ok := o.(*appsv1.Deployment)
	if !ok || entry(d) != nil {
		Reduce(o)
		return
	}
	key, err := fingerprint(d)
	if err != nil {
		Reduce(o)
		return
	}
	if known, ok := m.known.Get(key); ok {
		f := known.(found)
		stripDeployment(d, f.mark, f.annotations)
		return
	}
	Reduce(d)
	m.known.Add(key, found{Of(d), d.Annotations})
}

// fingerprint is of all that an extraction goes by: the metadata, with the fields that we have applied; and the spec, which the
// generation stands for. Who else wrote what, and when, is no part of it.
func fingerprint(d *appsv1.Deployment) ([sha256.Size]byte, error) {
	meta := d.ObjectMeta
	meta.ResourceVersion, meta.ManagedFields = "", nil
	for _, e := range d.ManagedFields {
		if isOurs(e) {
			meta.ManagedFields = append(meta.ManagedFields, metav1.ManagedFieldsEntry{FieldsV1: e.FieldsV1})
		}
	}
	data, err := json.Marshal(meta)
	if err != nil {
		return [sha256.Size]byte{}, err
	}
	return sha256.Sum256(data), nil
}
