// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/registry/statekey"
	"toolgate.dev/toolgate/internal/render"
)

// TestTheKeyIsTheDispatchersAlone on every way to run a server.
func TestTheKeyIsTheDispatchersAlone(t *testing.T) {
	stdio := &mcpv1alpha1.MCPServer{}
	stdio.Name, stdio.Namespace, stdio.UID = "files", "ns", "u1"
	stdio.Spec.Container = &mcpv1alpha1.Container{Image: "x", Command: []string{"x"}}
	stdio.Spec.Pod.Annotations = map[string]string{"team": "a"}
	remote := stdio.DeepCopy()
	remote.Spec.Container, remote.Spec.Remote = nil, &mcpv1alpha1.Remote{URL: "https://example.com/mcp"}
	http := stdio.DeepCopy()
	http.Spec.Transport.Type = mcpv1alpha1.TransportStreamableHTTP
	for name, s := range map[string]*mcpv1alpha1.MCPServer{"stdio": stdio, "remote": remote, "http": http} {
		t.Run(name, func(t *testing.T) {
			d, err := Deployment(s, Platform{Image: "toolgate"}, Live{StateKey: "0123456789"})
			if err != nil {
				t.Fatal(err)
			}
			template := d.Spec.Template
			var having []string
			for _, c := range slices.Concat(template.Spec.InitContainers, template.Spec.Containers) {
				mounted := slices.ContainsFunc(c.VolumeMounts, func(m corev1ac.VolumeMountApplyConfiguration) bool { return *m.Name == volumeStateKey && *m.ReadOnly })
				told := strings.Contains(strings.Join(c.Command, " "), "--state-key-file "+stateKeyDir+"/"+statekey.FileName)
				if mounted != told {
					t.Errorf("container %s: mounted %v, told of it %v", *c.Name, mounted, told)
				}
				if mounted {
					having = append(having, *c.Name)
				}
			}
			if !slices.Equal(having, []string{render.ContainerDispatcher}) {
				t.Errorf("containers %v have the key", having)
			}
			i := slices.IndexFunc(template.Spec.Volumes, func(v corev1ac.VolumeApplyConfiguration) bool { return *v.Name == volumeStateKey })
			if i < 0 || *template.Spec.Volumes[i].Secret.SecretName != "files.state-0123456789" || *template.Spec.Volumes[i].Secret.Optional {
				t.Error("no such volume")
			}
		})
	}
}

// TestWhichKeyAPodHas: nothing that can be changed of a pod has it taken for one that predates keys.
func TestWhichKeyAPodHas(t *testing.T) {
	volume := func(name, secret string) corev1.Volume {
		return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: secret}}}
	}
	for name, tc := range map[string]struct {
		volumes []corev1.Volume
		want    string
	}{
		"a pod that predates keys":                 {nil, ""},
		"a Secret of the server's own is no key":   {[]corev1.Volume{volume("mine", "files.state-0123456789")}, ""},
		"the key's volume":                         {[]corev1.Volume{volume("mine", "a-b"), volume(volumeStateKey, "my-files.state-0123456789")}, "0123456789"},
		"a Secret of a name that none of ours has": {[]corev1.Volume{volume(volumeStateKey, "else")}, "else"},
	} {
		if got := StateKeyOf(tc.volumes); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
		if got := StateKeyOf(StateKeyVolumes(tc.volumes)); got != tc.want {
			t.Errorf("%s, as the cache keeps it: %q, want %q", name, got, tc.want)
		}
	}
}

func TestTheSecretOfAKey(t *testing.T) {
	s := &mcpv1alpha1.MCPServer{}
	s.Name, s.Namespace, s.UID = "files", "ns", "u1"
	key := statekey.Derive([32]byte{1}, "u1")
	secret := StateKey(s, key)
	if !ptr.Deref(secret.Immutable, false) || string(secret.Data[statekey.FileName]) != string(key[:]) || secret.Name != "files.state-"+key.Name() {
		t.Errorf("%s", secret.Name)
	}
	if ref := secret.OwnerReferences; len(ref) != 1 || ref[0].UID != "u1" || !*ref[0].Controller || ref[0].BlockOwnerDeletion != nil {
		t.Errorf("%+v", ref)
	}
}
