// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// TestNamespacedRights holds config/namespaced to the rights of config/rbac: the same ones, in a namespace.
func TestNamespacedRights(t *testing.T) {
	var cluster rbacv1.ClusterRole
	installed(t, &cluster, "rbac", "role.yaml")
	var role rbacv1.Role
	installed(t, &role, "namespaced", "watched", "role.yaml")
	if diff := cmp.Diff(cluster.Rules, role.Rules); diff != "" {
		t.Errorf("the Role is not the ClusterRole's: run make generate (-cluster +namespaced):\n%s", diff)
	}
	for _, rule := range cluster.Rules {
		if len(rule.NonResourceURLs) > 0 {
			t.Errorf("%v can't be granted in a namespace", rule)
		}
	}
}

// TestNamespacedFlags holds the flags of config/namespaced to those of config/manager, but for metrics and namespaces.
func TestNamespacedFlags(t *testing.T) {
	var k struct {
		Patches []struct {
			Patch string `json:"patch"`
		} `json:"patches"`
	}
	data, err := os.ReadFile(filepath.Join("..", "..", "config", "namespaced", "kustomization.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(data, &k); err != nil {
		t.Fatal(err)
	}
	var d appsv1.Deployment
	if err := yaml.Unmarshal([]byte(k.Patches[len(k.Patches)-1].Patch), &d); err != nil {
		t.Fatal(err)
	}
	args := d.Spec.Template.Spec.Containers[0].Args
	o, err := parse(append(args, "--own-namespace=toolgate-system"), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if len(o.Namespaces) != 1 || o.LeaseNamespace != "toolgate-system" || o.MetricsSecure {
		t.Errorf("options %+v", o)
	}
	var cluster appsv1.Deployment
	installed(t, &cluster, "manager", "deployment.yaml")
	for _, arg := range cluster.Spec.Template.Spec.Containers[0].Args {
		if !strings.HasPrefix(arg, "--metrics-") && !slices.Contains(args, arg) {
			t.Errorf("config/namespaced leaves out %s", arg)
		}
	}
}
