// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package applied knows by digests what our field owner has applied to a child.
//
// Every pass compares the children of a server with what is wanted of them, and reads little else of them. To take out of an
// object what we have applied costs more than all else in a pass, and most of what a manager would remember are copies of
// children. So the caches keep a child reduced (Reduce): a mark is in the place of its managed fields, and of the rest there is
// only what somebody reads. Whoever reads past the caches reduces what he gets, so that one object is the same from both.
//
// It owns the mark, and which fields of a child are kept. It must not import a client.
package applied

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"

	"toolgate.dev/toolgate/internal/render"
)

// Mark says what is applied to an object, or is to be applied. The zero value is nothing.
type Mark struct {
	// Template is the digest of the pod template, and Rest that of everything else; "" for none.
	Rest     string `json:"rest,omitempty"`
	Template string `json:"template,omitempty"`
	// Replicas says that the number of pods is part of it.
	Replicas bool `json:"replicas,omitempty"`
}

// MarkOf gives the mark of what is to be applied.
func MarkOf(want runtime.ApplyConfiguration) (Mark, error) {
	var m Mark
	var err error
	if d, ok := want.(*appsv1ac.DeploymentApplyConfiguration); ok && d.Spec != nil {
		m.Replicas = d.Spec.Replicas != nil
		rest, spec := *d, *d.Spec
		if spec.Template != nil {
			if m.Template, err = Digest(spec.Template); err != nil {
				return Mark{}, err
			}
		}
		spec.Template, rest.Spec = nil, &spec
		want = &rest
	}
	m.Rest, err = Digest(want)
	return m, err
}

// Digest names a part of an apply configuration by what would be sent of it.
func Digest(part any) (string, error) {
	data, err := json.Marshal(part)
	if err != nil {
		return "", fmt.Errorf("encoding an apply configuration: %w", err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16]), nil
}

// Of gives the mark of an object that is reduced; the zero one where nothing has been applied.
func Of(o metav1.Object) Mark {
	e := entry(o)
	if e == nil {
		return Mark{}
	}
	var m Mark
	if err := json.Unmarshal(e.FieldsV1.GetRawBytes(), &m); err != nil {
		return unknown
	}
	return m
}

// Same says whether all that is wanted of an object has been applied to it, and nothing else has. The object must be reduced. A
// Deployment that is wanted without a pod template keeps the one that it has.
func Same(live metav1.Object, want runtime.ApplyConfiguration) (bool, error) {
	wanted, err := MarkOf(want)
	if err != nil {
		return false, err
	}
	is := Of(live)
	if wanted.Template == "" {
		wanted.Template = is.Template
	}
	return is == wanted, nil
}

// unknown is the mark of an object of which nobody can say what is applied. It is like no other, so that everything is applied
// anew; and the number of pods counts as ours, for to hand over what somebody else owns changes nothing.
var unknown = Mark{Template: "unknown", Replicas: true}

// digested is the operation of a mark among managed fields. The API server knows Apply and Update and refuses all others, so no
// object comes with it from there, whoever wrote it.
const digested metav1.ManagedFieldsOperationType = "Digest"

func entry(o metav1.Object) *metav1.ManagedFieldsEntry {
	fields := o.GetManagedFields()
	if len(fields) != 1 || fields[0].Operation != digested || fields[0].FieldsV1 == nil {
		return nil
	}
	return &fields[0]
}

// put puts a mark in the place of an object's managed fields.
func put(o metav1.Object, m Mark) {
	if m == (Mark{}) {
		o.SetManagedFields([]metav1.ManagedFieldsEntry{{Operation: digested, FieldsV1: nothing}})
		return
	}
	data, _ := json.Marshal(m) // strings and a truth value: this can't fail
	o.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: render.FieldOwner, Operation: digested, FieldsV1: metav1.NewFieldsV1(string(data))}})
}

// nothing is shared by all that we have applied nothing to.
var nothing = metav1.NewFieldsV1(`{}`)
