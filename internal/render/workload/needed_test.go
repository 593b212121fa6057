// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
)

// TestWhatAPodCantStartWithout goes by the volumes that are rendered, whichever field of a spec they come from.
func TestWhatAPodCantStartWithout(t *testing.T) {
	stdio := func(edit func(*mcpv1alpha1.MCPServerSpec)) *mcpv1alpha1.MCPServer {
		s := &mcpv1alpha1.MCPServer{}
		s.Name, s.Namespace = "files", "ns"
		s.Spec.Container = &mcpv1alpha1.Container{Image: "x", Command: []string{"x"}}
		edit(&s.Spec)
		return s
	}
	volumes := func(all ...mcpv1alpha1.Volume) *mcpv1alpha1.MCPServer {
		return stdio(func(s *mcpv1alpha1.MCPServerSpec) { s.Pod.Volumes = all })
	}
	ours := []string{"ConfigMap files.registry", "Secret files.state-0123456789 with key"}
	for name, tc := range map[string]struct {
		server *mcpv1alpha1.MCPServer
		want   []string
	}{
		"nothing of people's": {volumes(), nil},
		"a volume of each kind": {volumes(
			mcpv1alpha1.Volume{Name: "c", PersistentVolumeClaim: "data"},
			mcpv1alpha1.Volume{Name: "a", Secret: "s1"},
			mcpv1alpha1.Volume{Name: "b", ConfigMap: "c1"},
			mcpv1alpha1.Volume{Name: "d", EmptyDir: &mcpv1alpha1.EmptyDirVolume{}},
			mcpv1alpha1.Volume{Name: "e", Secret: "s1"},
			mcpv1alpha1.Volume{Name: "f", CSI: &mcpv1alpha1.CSIVolume{Driver: "d", NodePublishSecret: "s2"}},
			mcpv1alpha1.Volume{Name: "g", Projected: &mcpv1alpha1.ProjectedVolume{Sources: []mcpv1alpha1.ProjectedSource{
				{Secret: "s3"}, {ConfigMap: "c2", Items: []mcpv1alpha1.ProjectedItem{{Key: "k", Path: "p"}}},
			}}},
		), []string{"ConfigMap c1", "ConfigMap c2 with k", "PersistentVolumeClaim data", "Secret s1", "Secret s2", "Secret s3"}},
		"what it only refers to": {stdio(func(s *mcpv1alpha1.MCPServerSpec) {
			s.Container.EnvFrom = []mcpv1alpha1.EnvFrom{{SecretRef: "s1"}}
			s.DomainModel = &mcpv1alpha1.DomainModel{ConfigMapKeyRef: mcpv1alpha1.KeyRef{Name: "m", Key: "k"}, Format: mcpv1alpha1.ModelJSON}
		}), nil},
		"what a remote server is reached with": {stdio(func(s *mcpv1alpha1.MCPServerSpec) {
			s.Container, s.Remote = nil, &mcpv1alpha1.Remote{
				URL:          "https://example.com/mcp",
				HeadersFrom:  []mcpv1alpha1.HeaderFrom{{Name: "Authorization", SecretKeyRef: mcpv1alpha1.KeyRef{Name: "s1", Key: "token"}}},
				CABundleFrom: &mcpv1alpha1.KeyRef{Name: "c1", Key: "ca.crt"},
			}
		}), []string{"ConfigMap c1 with ca.crt", "Secret s1 with token"}},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := Deployment(tc.server, Platform{Image: "toolgate"}, Live{StateKey: "0123456789"})
			if err != nil {
				t.Fatal(err)
			}
			data, err := json.Marshal(d.Spec.Template.Spec)
			if err != nil {
				t.Fatal(err)
			}
			var pod corev1.PodSpec
			if err := json.Unmarshal(data, &pod); err != nil {
				t.Fatal(err)
			}
			want := slices.Concat(tc.want, ours)
			if diff := cmp.Diff(want, VolumeSources(pod.Volumes)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			kept := NeededVolumes(pod.Volumes)
			if diff := cmp.Diff(want, VolumeSources(kept)); diff != "" {
				t.Errorf("out of what is kept of them (-want +got)\n%s", diff)
			}
			if got := StateKeyOf(kept); got != "0123456789" {
				t.Errorf("the key among what is kept is %q", got)
			}
			for _, v := range kept {
				if v.Projected != nil && len(v.Projected.Sources) > 2 {
					t.Errorf("volume %s keeps %d sources", v.Name, len(v.Projected.Sources))
				}
			}
		})
	}
}
