// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package applied_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"toolgate.dev/toolgate/controllers/applied"
	"toolgate.dev/toolgate/internal/render"
)

// ours are the managed fields of an object to which we have applied these fields and somebody has written others.
func ours(fields string) []metav1.ManagedFieldsEntry {
	return []metav1.ManagedFieldsEntry{
		{Manager: "somebody", Operation: metav1.ManagedFieldsOperationUpdate, FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:labels":{"f:theirs":{}}}}`)},
		{Manager: render.FieldOwner, Operation: metav1.ManagedFieldsOperationApply, FieldsV1: metav1.NewFieldsV1(fields)},
	}
}

func meta(fields string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: "files", Namespace: "ns", UID: "u1", ResourceVersion: "7", Generation: 3, ManagedFields: ours(fields),
		Labels: map[string]string{"mine": "1", "theirs": "1"}, Annotations: map[string]string{"mine": "1", "theirs": "1"},
		OwnerReferences: []metav1.OwnerReference{{UID: "u2", Controller: new(true)}},
	}
}

func configMap() *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: meta(`{"f:metadata":{"f:labels":{"f:mine":{}}},"f:data":{"f:a":{}}}`),
		Data:       map[string]string{"a": "1", "theirs": "1"},
	}
}

func deployment() *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: meta(`{"f:metadata":{"f:annotations":{"f:mine":{}}},"f:spec":{"f:replicas":{},"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"server\"}":{".":{},"f:name":{},"f:image":{}}}}}}}`),
		Spec: appsv1.DeploymentSpec{Replicas: new(int32(2)), Paused: true, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{render.AnnotationReferences: "r1", "theirs": "1"}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "server", Image: "one"}}, ServiceAccountName: "theirs"},
		}},
		Status: appsv1.DeploymentStatus{ReadyReplicas: 2},
	}
}

func wantConfigMap() runtime.ApplyConfiguration {
	return corev1ac.ConfigMap("files", "ns").WithLabels(map[string]string{"mine": "1"}).WithData(map[string]string{"a": "1"})
}

func wantDeployment() *appsv1ac.DeploymentApplyConfiguration {
	return appsv1ac.Deployment("files", "ns").WithAnnotations(map[string]string{"mine": "1"}).
		WithSpec(appsv1ac.DeploymentSpec().WithReplicas(2).WithTemplate(corev1ac.PodTemplateSpec().
			WithSpec(corev1ac.PodSpec().WithContainers(corev1ac.Container().WithName("server").WithImage("one")))))
}

func TestSame(t *testing.T) {
	changed := func(o *appsv1.Deployment, change func(*appsv1.Deployment)) client.Object { change(o); return o }
	files := func(change func(*corev1.ConfigMap)) client.Object { o := configMap(); change(o); return o }
	withoutTemplate, withOthers := wantDeployment(), wantDeployment()
	withoutTemplate.Spec.Template, withOthers.Spec.Template = nil, nil
	withOthers.Spec.WithReplicas(3)
	for name, tc := range map[string]struct {
		live client.Object
		want runtime.ApplyConfiguration
		same bool
	}{
		"a ConfigMap as applied":                    {configMap(), wantConfigMap(), true},
		"with a file of theirs":                     {files(func(o *corev1.ConfigMap) { o.Data["theirs"] = "2" }), wantConfigMap(), true},
		"with a file of ours changed":               {files(func(o *corev1.ConfigMap) { o.Data["a"] = "2" }), wantConfigMap(), false},
		"with a file of ours gone":                  {files(func(o *corev1.ConfigMap) { delete(o.Data, "a") }), wantConfigMap(), false},
		"with a label of ours gone":                 {files(func(o *corev1.ConfigMap) { delete(o.Labels, "mine") }), wantConfigMap(), false},
		"with a file that is theirs now":            {files(func(o *corev1.ConfigMap) { o.ManagedFields = ours(`{"f:metadata":{"f:labels":{"f:mine":{}}}}`) }), wantConfigMap(), false},
		"of which nothing is ours":                  {files(func(o *corev1.ConfigMap) { o.ManagedFields = o.ManagedFields[:1] }), wantConfigMap(), false},
		"with fields that can't be read":            {files(func(o *corev1.ConfigMap) { o.ManagedFields = ours(`{"f:data":7}`) }), wantConfigMap(), false},
		"a Deployment as applied":                   {deployment(), wantDeployment(), true},
		"with a field of theirs":                    {changed(deployment(), func(o *appsv1.Deployment) { o.Spec.Template.Spec.HostNetwork = true }), wantDeployment(), true},
		"with its image changed":                    {changed(deployment(), func(o *appsv1.Deployment) { o.Spec.Template.Spec.Containers[0].Image = "two" }), wantDeployment(), false},
		"with its number of pods changed":           {changed(deployment(), func(o *appsv1.Deployment) { o.Spec.Replicas = new(int32(7)) }), wantDeployment(), false},
		"with an annotation changed":                {changed(deployment(), func(o *appsv1.Deployment) { o.Annotations["mine"] = "2" }), wantDeployment(), false},
		"that is to keep its pods":                  {deployment(), withoutTemplate, true},
		"that is to keep its pods, but another one": {deployment(), withOthers, false},
	} {
		t.Run(name, func(t *testing.T) {
			applied.Reduce(tc.live)
			if same, err := applied.Same(tc.live, tc.want); err != nil || same != tc.same {
				t.Errorf("same %v (%v), want %v", same, err, tc.same)
			}
		})
	}
}

// TestReduce wants nothing else to be left of a child than what is read of it.
func TestReduce(t *testing.T) {
	left := func(mark string) metav1.ObjectMeta {
		return metav1.ObjectMeta{
			Name: "files", Namespace: "ns", UID: "u1", ResourceVersion: "7", Generation: 3,
			OwnerReferences: []metav1.OwnerReference{{UID: "u2", Controller: new(true)}},
			ManagedFields:   []metav1.ManagedFieldsEntry{{Manager: render.FieldOwner, Operation: "Digest", FieldsV1: metav1.NewFieldsV1(mark)}},
		}
	}
	service := &corev1.Service{
		ObjectMeta: meta(`{"f:metadata":{"f:labels":{"f:mine":{}}},"f:spec":{"f:type":{}}}`),
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, ClusterIP: "10.0.0.1"},
	}
	wantDeployment := &appsv1.Deployment{
		Spec: appsv1.DeploymentSpec{Replicas: new(int32(2)), Paused: true, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{render.AnnotationReferences: "r1"}},
			Spec:       corev1.PodSpec{ServiceAccountName: "theirs"},
		}},
		Status: appsv1.DeploymentStatus{ReadyReplicas: 2},
	}
	wantConfigMap := &corev1.ConfigMap{Data: configMap().Data}
	for name, tc := range map[string]struct{ live, want client.Object }{
		"a Service":    {service, &corev1.Service{}},
		"a Deployment": {deployment(), wantDeployment},
		"a ConfigMap":  {configMap(), wantConfigMap},
		"a Pod":        {&corev1.Pod{ObjectMeta: meta(`{}`)}, &corev1.Pod{ObjectMeta: meta(`{}`)}},
	} {
		t.Run(name, func(t *testing.T) {
			applied.Reduce(tc.live)
			once := tc.live.DeepCopyObject()
			applied.Reduce(tc.live)
			if diff := cmp.Diff(once, tc.live); diff != "" {
				t.Errorf("reduced again (-once +twice)\n%s", diff)
			}
			if name == "a Pod" {
				return
			}
			want := left(string(tc.live.GetManagedFields()[0].FieldsV1.GetRawBytes()))
			switch o := tc.want.(type) {
			case *appsv1.Deployment:
				o.ObjectMeta, o.Annotations = want, map[string]string{"mine": "1"}
			case *corev1.ConfigMap:
				o.ObjectMeta, o.Labels = want, configMap().Labels
			case *corev1.Service:
				o.ObjectMeta = want
			}
			if diff := cmp.Diff(tc.want, tc.live); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestOf(t *testing.T) {
	nothing, broken, d := configMap(), configMap(), deployment()
	nothing.ManagedFields = nil
	broken.ManagedFields = ours(`{"f:data":7}`)
	for _, o := range []client.Object{nothing, broken, d} {
		applied.Reduce(o)
	}
	if mark := applied.Of(nothing); mark != (applied.Mark{}) {
		t.Errorf("of nothing: %+v", mark)
	}
	if mark := applied.Of(broken); mark == (applied.Mark{}) || mark.Rest != "" || !mark.Replicas {
		t.Errorf("of what can't be read: %+v", mark)
	}
	if mark := applied.Of(d); mark.Rest == "" || mark.Template == "" || !mark.Replicas {
		t.Errorf("of a Deployment: %+v", mark)
	}
}
