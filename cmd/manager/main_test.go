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
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"toolgate.dev/toolgate/controllers"
	"toolgate.dev/toolgate/controllers/keyring"
	"toolgate.dev/toolgate/controllers/process"
	"toolgate.dev/toolgate/controllers/waves"
	"toolgate.dev/toolgate/internal/render/workload"
)

func TestParse(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"nothing":                          {nil, ""},
		"all that config/manager sets":     {installedArgs(t), ""},
		"an election without a namespace":  {[]string{"--leader-elect"}, "--leader-elect needs --own-namespace"},
		"a pull policy that is none":       {[]string{"--dispatcher-image-pull-policy=Sometimes"}, "is not one of Always, IfNotPresent, Never"},
		"a wave of nobody":                 {[]string{"--max-upgrading=0"}, "--max-upgrading 0 is not at least 1"},
		"less than no requests":            {[]string{"--kube-api-qps=-1"}, "--kube-api-qps -1 is negative"},
		"a level that is none":             {[]string{"--log-level=loud"}, "log-level"},
		"something that is no flag":        {[]string{"serve"}, `unexpected argument "serve"`},
		"a flag that is not there":         {[]string{"--webhook"}, "-webhook"},
		"namespaces, and a pull policy":    {[]string{"--namespaces=a,b", "--dispatcher-image-pull-policy=Never"}, ""},
		"namespaces with spaces":           {[]string{"--namespaces=a, b"}, `" b" is no name of a namespace`},
		"a namespace without a name":       {[]string{"--namespaces=a,"}, `"" is no name of a namespace`},
		"a level by its name":              {[]string{"--log-level=debug"}, ""},
		"an election with a namespace":     {[]string{"--leader-elect", "--own-namespace=x"}, ""},
		"metrics that are off and plain":   {[]string{"--metrics-bind-address=0"}, ""},
		"metrics over TLS for the trusted": {[]string{"--metrics-secure"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parse(tc.args, io.Discard)
			switch {
			case tc.want == "" && err != nil:
				t.Error(err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("error %v, want one with %q", err, tc.want)
			}
		})
	}
}

func TestOptionsReachTheManager(t *testing.T) {
	o, err := parse([]string{"--namespaces=a,b", "--own-namespace=own", "--dispatcher-image=x:1", "--metrics-secure", "--leader-elect"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	want := process.Options{
		Controllers:    controllers.Options{Platform: workload.Platform{Image: "x:1", ManagerNamespace: "own"}, MaxUpgrading: waves.DefaultMax},
		Namespaces:     []string{"a", "b"},
		LeaseNamespace: "own",
		MetricsAddress: "127.0.0.1:8080", MetricsSecure: true,
		ProbeAddress: ":8081",
	}
	if diff := cmp.Diff(want, o.Options, cmpopts.IgnoreFields(controllers.Options{}, "PodURL")); diff != "" {
		t.Errorf("options (-want +got):\n%s", diff)
	}
}

// installed reads a manifest of config/.
func installed(t *testing.T, into any, path ...string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(append([]string{"..", "..", "config"}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(data, into); err != nil {
		t.Fatal(err)
	}
}

func installedArgs(t *testing.T) []string {
	t.Helper()
	var d appsv1.Deployment
	installed(t, &d, "manager", "deployment.yaml")
	return append(d.Spec.Template.Spec.Containers[0].Args, "--own-namespace=toolgate-system")
}

func TestDispatchersLetTheInstalledManagerIn(t *testing.T) {
	var d appsv1.Deployment
	installed(t, &d, "manager", "deployment.yaml")
	for k, v := range workload.ManagerLabels() {
		if d.Spec.Template.Labels[k] != v {
			t.Errorf("label %s of the manager's pods is %q, NetworkPolicies select %q", k, d.Spec.Template.Labels[k], v)
		}
	}
	c := d.Spec.Template.Spec.Containers[0]
	if c.SecurityContext == nil || c.SecurityContext.ReadOnlyRootFilesystem == nil || !*c.SecurityContext.ReadOnlyRootFilesystem {
		t.Error("the manager's file system can be written to")
	}
}

// TestTheRoleIsSmall holds what a stolen token of the manager could do to what is known here.
func TestTheRoleIsSmall(t *testing.T) {
	var role rbacv1.ClusterRole
	installed(t, &role, "rbac", "role.yaml")
	// Deleted are tools that nothing is left to tell of, and children that a spec no longer asks for: its own account, the
	// Service of peers, the budget of a single pod, the index of a namespace without servers. All else goes with its owner.
	deleted := []string{"mcptools", "serviceaccounts", "services", "configmaps", "poddisruptionbudgets"}
	for _, rule := range role.Rules {
		for _, r := range rule.Resources {
			for _, v := range rule.Verbs {
				switch {
				case r == "*" || v == "*" || slices.Contains(rule.APIGroups, "*"):
					t.Errorf("the role has a wildcard: %v", rule)
				case r == "secrets" && v != "create", strings.HasPrefix(r, "roles"), strings.HasPrefix(r, "clusterroles"), r == "pods/exec", r == "nodes", r == "serviceaccounts/token":
					t.Errorf("the role may %s %s", v, r)
				case v == "escalate", v == "bind", v == "impersonate", v == "deletecollection":
					t.Errorf("the role may %s %s", v, r)
				case v == "create" && r == "pods", v == "delete" && !slices.Contains(deleted, r), v == "update" && !strings.HasSuffix(r, "/status"):
					t.Errorf("the role may %s %s", v, r)
				}
			}
		}
	}
	if !slices.ContainsFunc(role.Rules, func(r rbacv1.PolicyRule) bool { return slices.Contains(r.Resources, "mcpservers") }) {
		t.Error("the role has nothing of ours: was it read at all?")
	}
}

// TestOneSecretCanBeRead: the one that keys are derived from, and nothing lists or watches any.
func TestOneSecretCanBeRead(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "config", "rbac", "state_keys.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var role rbacv1.Role
	first, _, _ := strings.Cut(string(data), "\n---\n")
	if err := yaml.UnmarshalStrict([]byte(first), &role); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, rule := range role.Rules {
		for _, v := range rule.Verbs {
			got = append(got, v+" "+strings.Join(rule.Resources, ",")+" "+strings.Join(rule.ResourceNames, ","))
		}
	}
	if want := []string{"create secrets ", "get secrets " + keyring.SecretName}; !slices.Equal(got, want) {
		t.Errorf("the role may %q, want %q", got, want)
	}
}

func TestTheNamespaceIsRestricted(t *testing.T) {
	var ns corev1.Namespace
	installed(t, &ns, "manager", "namespace.yaml")
	if ns.Labels["pod-security.kubernetes.io/enforce"] != "restricted" {
		t.Errorf("labels %v", ns.Labels)
	}
}
