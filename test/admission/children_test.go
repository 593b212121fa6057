// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/render/workload"
)

// TestChildrenOfWhatIsAccepted renders what runs each MCPServer of the cases that are accepted, and wants the API server to
// accept that too: what a Deployment can't hold is told to whoever writes it, not in a condition.
func TestChildrenOfWhatIsAccepted(t *testing.T) {
	s := need(t)
	s.install(t)
	files, err := filepath.Glob("testdata/mcpserver/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	manager := s.user(t, managerUser, authenticated, serviceAccounts)
	namespace := s.namespace(t)
	accepted := 0
	for _, file := range files {
		tc := load(t, file)
		if tc.Refused != "" {
			continue
		}
		accepted++
		server := &v1alpha1.MCPServer{}
		read(t, tc.Object, server)
		server.Namespace, server.UID = namespace, "1"
		for kind, child := range childrenOf(t, server) {
			if err := manager.Apply(context.Background(), child, client.FieldOwner("toolgate"), client.ForceOwnership, client.DryRunAll); err != nil {
				t.Errorf("%s is accepted, and its %s is not: %v", filepath.Base(file), kind, err)
			}
		}
	}
	t.Logf("the children of %d servers", accepted)
}

func childrenOf(t *testing.T, s *v1alpha1.MCPServer) map[string]runtime.ApplyConfiguration {
	t.Helper()
	platform := workload.Platform{Image: "toolgate:test", ManagerNamespace: "toolgate-system"}
	deployment, err := workload.Deployment(s, platform, workload.Live{StateKey: "key"})
	if err != nil {
		t.Fatal(err)
	}
	policy, err := workload.NetworkPolicy(s, platform)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]runtime.ApplyConfiguration{
		"Deployment": deployment, "NetworkPolicy": policy, "Service": workload.Service(s), "Service for peers": workload.Peers(s),
		"PodDisruptionBudget": workload.PodDisruptionBudget(s), "ServiceAccount": workload.ServiceAccount(s),
	}
}
