// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package applied_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"toolgate.dev/toolgate/controllers/applied"
	"toolgate.dev/toolgate/internal/render"
)

// TestMemory wants of a Deployment that was seen before what a look at it alone gives, after everything that may become of it.
func TestMemory(t *testing.T) {
	for name, change := range map[string]func(*appsv1.Deployment){
		"nothing":              func(*appsv1.Deployment) {},
		"a step of its status": func(d *appsv1.Deployment) { d.Status.ReadyReplicas, d.ResourceVersion = 1, "8" },
		"its image": func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Containers[0].Image = "two"
			d.Generation++
		},
		"its number of pods": func(d *appsv1.Deployment) {
			d.Spec.Replicas = new(int32(7))
			d.Generation++
		},
		"an annotation of ours":   func(d *appsv1.Deployment) { d.Annotations["mine"] = "2" },
		"an annotation of theirs": func(d *appsv1.Deployment) { d.Annotations["theirs"] = "2" },
		"a label":                 func(d *appsv1.Deployment) { d.Labels["mine"] = "2" },
		"its owner":               func(d *appsv1.Deployment) { d.OwnerReferences = nil },
		"it is deleted":           func(d *appsv1.Deployment) { d.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} },
		"it is made again":        func(d *appsv1.Deployment) { d.UID = "u9" },
		"a field goes to somebody else": func(d *appsv1.Deployment) {
			d.ManagedFields = ours(`{"f:metadata":{"f:annotations":{"f:mine":{}}}}`)
		},
		"nothing of it is ours any more": func(d *appsv1.Deployment) { d.ManagedFields = d.ManagedFields[:1] },
		"what is ours can't be read":     func(d *appsv1.Deployment) { d.ManagedFields = ours(`{"f:spec":7}`) },
		"it is started anew": func(d *appsv1.Deployment) {
			d.Spec.Template.Annotations[render.AnnotationReferences] = "r2"
			d.Generation++
		},
		"another of its name elsewhere": func(d *appsv1.Deployment) { d.Namespace, d.UID = "other", types.UID("u7") },
	} {
		t.Run(name, func(t *testing.T) {
			memory := applied.NewMemory()
			memory.Reduce(deployment())
			got := deployment()
			change(got)
			want := got.DeepCopy()
			applied.Reduce(want)
			memory.Reduce(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-without memory +with)\n%s", diff)
			}
			memory.Reduce(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("reduced again (-want +got)\n%s", diff)
			}
		})
	}
	// Of what we have in mind no other look is taken: this spec has changed in a way that no API server lets happen.
	memory := applied.NewMemory()
	memory.Reduce(deployment())
	d := deployment()
	d.Spec.Template.Spec.Containers[0].Image = "two"
	memory.Reduce(d)
	if same, err := applied.Same(d, wantDeployment()); err != nil || !same {
		t.Errorf("a Deployment of the same generation was looked at again (%v)", err)
	}
}

func BenchmarkReduceDeployment(b *testing.B) {
	memory := applied.NewMemory()
	for name, reduce := range map[string]func(any){"anew": applied.Reduce, "remembered": memory.Reduce} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				reduce(deployment())
			}
		})
	}
}
