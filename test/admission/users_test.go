// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"toolgate.dev/toolgate/api/v1alpha1"
)

// patience is how long something asynchronous may take on a busy machine.
const patience = time.Minute

var installed sync.Once

// install applies config/default once, and waits until the policies in it are in force.
func (s *apiServer) install(t *testing.T) {
	t.Helper()
	installed.Do(func() {
		s.kubectlOK(t, "apply", "-k", root+"/config/default")
		namespace := s.namespace(t)
		nobody := s.as(t, namespace, "nobody", "toolgate-view", "toolgate-edit")
		until(t, "policies in force", func() bool {
			for _, try := range []string{
				`{kind: MCPServer, metadata: {name: a}, spec: {container: {image: a, command: [b]}, trust: {state: Trusted}}}`,
				`{kind: MCPTool, metadata: {name: a.b}, spec: {serverRef: {name: a}, toolName: b, hints: {readOnly: "True"}}}`,
			} {
				if nobody.Create(context.Background(), parse(t, namespace, try), client.DryRunAll) == nil {
					return false
				}
			}
			document := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "mcp-registry"}}
			pod := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a", Labels: map[string]string{"mcp.toolgate.dev/server": "a"}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "a"}}},
			}
			return s.client.Create(context.Background(), document, client.DryRunAll) != nil && s.client.Create(context.Background(), pod, client.DryRunAll) != nil
		})
	})
}

// until waits for something that the API server does in its own time.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(context.Background(), 50*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		return done(), nil
	})
	if err != nil {
		t.Fatalf("waiting for %s: %v", what, err)
	}
}

// as gives a client of somebody who has ClusterRoles in a namespace and no other rights. A name with colons is that of a
// ServiceAccount or of a part of Kubernetes.
func (s *apiServer) as(t *testing.T, namespace, name string, roles ...string) client.Client {
	t.Helper()
	c := s.user(t, name, "system:authenticated")
	for _, role := range roles {
		binding := &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: strings.ReplaceAll(name, ":", "-") + "-" + role},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}},
		}
		if err := s.client.Create(context.Background(), binding); err != nil {
			t.Fatal(err)
		}
		s.bound(t, c, namespace, role)
	}
	return client.WithFieldValidation(c, metav1.FieldValidationStrict)
}

// user gives a client of a user with groups.
func (s *apiServer) user(t *testing.T, name string, groups ...string) client.Client {
	t.Helper()
	cfg := rest.CopyConfig(s.config)
	cfg.QPS = -1
	cfg.Impersonate = rest.ImpersonationConfig{UserName: name, Groups: groups}
	c, err := client.New(cfg, client.Options{Scheme: s.client.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// bound waits until the API server's own cache of roles has a binding, by the first thing that its role allows.
func (s *apiServer) bound(t *testing.T, c client.Client, namespace, role string) {
	t.Helper()
	var r rbacv1.ClusterRole
	if err := s.client.Get(context.Background(), client.ObjectKey{Name: role}, &r); err != nil {
		t.Fatal(err)
	}
	first := authorizationv1.ResourceAttributes{
		Namespace: namespace, Group: r.Rules[0].APIGroups[0], Resource: r.Rules[0].Resources[0], Verb: r.Rules[0].Verbs[0],
	}
	until(t, "a binding of "+role, func() bool {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &first}}
		return c.Create(context.Background(), review) == nil && review.Status.Allowed
	})
}

// parse reads an object of ours as YAML.
func parse(t *testing.T, namespace, object string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.UnmarshalStrict([]byte(object), &u.Object); err != nil {
		t.Fatal(err)
	}
	if u.GetAPIVersion() == "" {
		u.SetAPIVersion(v1alpha1.GroupVersion.String())
	}
	u.SetNamespace(namespace)
	return u
}
