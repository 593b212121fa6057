// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package shape_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/yaml"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/render/shape"
)

// read makes a type of the API of YAML, strictly, as a client would write it.
func read[T any](t *testing.T, text string) T {
	t.Helper()
	var out T
	if err := yaml.UnmarshalStrict([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// differs compares what is sent to the API server with YAML.
func differs(t *testing.T, want string, got any) {
	t.Helper()
	data, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	var have any
	if err := json.Unmarshal(data, &have); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(read[any](t, want), have); diff != "" {
		t.Errorf("what is applied (-want +got):\n%s", diff)
	}
}

// TestContainers: each field arrives where Kubernetes has it, and what is absent is not applied: it would be owned.
func TestContainers(t *testing.T) {
	for name, tc := range map[string]struct {
		got  func(t *testing.T) any
		want string
	}{
		"variables of each kind": {
			got: func(t *testing.T) any {
				return shape.Env(read[[]mcpv1alpha1.EnvVar](t, `[{name: A, value: "1"}, {name: B}, {name: C, secretKeyRef: {name: s, key: k}}, {name: D, configMapKeyRef: {name: m, key: k}}]`))
			},
			want: `[{name: A, value: "1"}, {name: B}, {name: C, valueFrom: {secretKeyRef: {name: s, key: k}}}, {name: D, valueFrom: {configMapKeyRef: {name: m, key: k}}}]`,
		},
		"sources of variables": {
			got: func(t *testing.T) any {
				return shape.EnvFrom(read[[]mcpv1alpha1.EnvFrom](t, `[{prefix: DB_, secretRef: s}, {configMapRef: m}]`))
			},
			want: `[{prefix: DB_, secretRef: {name: s}}, {configMapRef: {name: m}}]`,
		},
		"mounts": {
			got: func(t *testing.T) any {
				return shape.Mounts(read[[]mcpv1alpha1.VolumeMount](t, `[{name: a, mountPath: /a}, {name: b, mountPath: /b, subPath: x/y, access: ReadOnly}, {name: c, mountPath: /c, access: ReadWrite}]`))
			},
			want: `[{name: a, mountPath: /a}, {name: b, mountPath: /b, subPath: x/y, readOnly: true}, {name: c, mountPath: /c}]`,
		},
		"no resources": {got: func(*testing.T) any { return shape.Resources(corev1.ResourceRequirements{}) }, want: `{}`},
		"resources, each on its own side": {
			got: func(t *testing.T) any {
				return shape.Resources(read[corev1.ResourceRequirements](t, `{limits: {memory: 1Gi}, requests: {cpu: 10m}, claims: [{name: gpu}]}`))
			},
			want: `{limits: {memory: 1Gi}, requests: {cpu: 10m}, claims: [{name: gpu}]}`,
		},
		"probes, each in its place, and a delay of 0 is one": {
			got: func(t *testing.T) any {
				c := read[mcpv1alpha1.Container](t, `{livenessProbe: {exec: [cat, /ok], failureThreshold: 4}, readinessProbe: {httpGet: {path: /ready, port: 8080, scheme: HTTPS}, timeoutSeconds: 2},
					startupProbe: {tcpPort: 9000, initialDelaySeconds: 0, periodSeconds: 7}}`)
				ac := corev1ac.Container()
				shape.Probes(ac, &c)
				return ac
			},
			want: `{livenessProbe: {exec: {command: [cat, /ok]}, failureThreshold: 4}, readinessProbe: {httpGet: {path: /ready, port: 8080, scheme: HTTPS}, timeoutSeconds: 2},
				startupProbe: {tcpSocket: {port: 9000}, initialDelaySeconds: 0, periodSeconds: 7}}`,
		},
		"no probes": {
			got: func(*testing.T) any {
				ac := corev1ac.Container()
				shape.Probes(ac, &mcpv1alpha1.Container{})
				return ac
			},
			want: `{}`,
		},
		"what Pod Security asks for": {
			got:  func(*testing.T) any { return shape.PodSecurity(mcpv1alpha1.PodSecurity{}) },
			want: `{runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}`,
		},
		"groups and a profile of one's own": {
			got: func(t *testing.T) any {
				return shape.PodSecurity(read[mcpv1alpha1.PodSecurity](t, `{fsGroup: 7, fsGroupChangePolicy: OnRootMismatch, supplementalGroups: [8, 9], seccompProfile: p/files.json}`))
			},
			want: `{runAsNonRoot: true, fsGroup: 7, fsGroupChangePolicy: OnRootMismatch, supplementalGroups: [8, 9], seccompProfile: {type: Localhost, localhostProfile: p/files.json}}`,
		},
	} {
		t.Run(name, func(t *testing.T) { differs(t, tc.want, tc.got(t)) })
	}
}

func TestVolume(t *testing.T) {
	for name, tc := range map[string]struct{ volume, want string }{
		"nothing said is an empty one": {`{name: v}`, `{name: v, emptyDir: {}}`},
		"an empty one":                 {`{name: v, emptyDir: {medium: Memory, sizeLimit: 64Mi}}`, `{name: v, emptyDir: {medium: Memory, sizeLimit: 64Mi}}`},
		"a ConfigMap":                  {`{name: v, configMap: m}`, `{name: v, configMap: {name: m}}`},
		"a Secret":                     {`{name: v, secret: s}`, `{name: v, secret: {secretName: s}}`},
		"a claim":                      {`{name: v, persistentVolumeClaim: c}`, `{name: v, persistentVolumeClaim: {claimName: c}}`},
		"several in their order": {
			`{name: v, projected: {sources: [{secret: s, items: [{key: k, path: a/b}]}, {configMap: m}]}}`,
			`{name: v, projected: {sources: [{secret: {name: s, items: [{key: k, path: a/b}]}}, {configMap: {name: m}}]}}`,
		},
		"of a file in several the last one": {
			`{name: v, projected: {sources: [{secret: s, items: [{key: k, path: a}, {key: l, path: b}]}, {configMap: m, items: [{key: k, path: a}]}, {secret: t, items: [{key: l, path: a}]}, {configMap: o}]}}`,
			`{name: v, projected: {sources: [{secret: {name: s, items: [{key: l, path: b}]}}, {secret: {name: t, items: [{key: l, path: a}]}}, {configMap: {name: o}}]}}`,
		},
		"of a driver": {
			`{name: v, csi: {driver: d.example.com, attributes: {a: b}, nodePublishSecret: s, fsType: ext4, access: ReadOnly}}`,
			`{name: v, csi: {driver: d.example.com, volumeAttributes: {a: b}, nodePublishSecretRef: {name: s}, fsType: ext4, readOnly: true}}`,
		},
		"of a driver that may write": {`{name: v, csi: {driver: d, access: ReadWrite}}`, `{name: v, csi: {driver: d}}`},
		"as long as a pod": {
			`{name: v, ephemeral: {size: 1Gi}}`,
			`{name: v, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}}}`,
		},
		"as long as a pod, of a class": {
			`{name: v, ephemeral: {size: 1Gi, storageClassName: fast, accessMode: ReadWriteMany}}`,
			`{name: v, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteMany], storageClassName: fast, resources: {requests: {storage: 1Gi}}}}}}`,
		},
	} {
		t.Run(name, func(t *testing.T) { differs(t, tc.want, shape.Volume(read[mcpv1alpha1.Volume](t, tc.volume))) })
	}
}

// TestPeers: {} selects all and absent selects nothing of the kind, which are as far apart as can be.
func TestPeers(t *testing.T) {
	for name, tc := range map[string]struct {
		peers, want string
		wantErr     bool
	}{
		"a range":                 {peers: `[{cidr: 192.0.2.0/24}]`, want: `[{ipBlock: {cidr: 192.0.2.0/24}}]`},
		"all pods of here":        {peers: `[{podSelector: {}}]`, want: `[{podSelector: {}}]`},
		"all pods everywhere":     {peers: `[{namespaceSelector: {}}]`, want: `[{namespaceSelector: {}}]`},
		"some pods of some":       {peers: `[{namespaceSelector: {matchLabels: {a: b}}, podSelector: {matchExpressions: [{key: k, operator: In, values: [v]}]}}]`, want: `[{namespaceSelector: {matchLabels: {a: b}}, podSelector: {matchExpressions: [{key: k, operator: In, values: [v]}]}}]`},
		"in their order":          {peers: `[{cidr: 10.0.0.0/8}, {podSelector: {}}]`, want: `[{ipBlock: {cidr: 10.0.0.0/8}}, {podSelector: {}}]`},
		"nobody":                  {peers: `[{}]`, wantErr: true},
		"nobody beside somebody":  {peers: `[{cidr: 10.0.0.0/8}, {}]`, wantErr: true},
		"a list of nobody at all": {peers: `[]`, want: `null`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := shape.Peers(read[[]mcpv1alpha1.NetworkPeer](t, tc.peers))
			if (err != nil) != tc.wantErr {
				t.Fatalf("%v, want an error: %v", err, tc.wantErr)
			}
			if tc.wantErr {
				if len(got) > 0 {
					t.Errorf("gives %d peers all the same", len(got))
				}
				return
			}
			differs(t, tc.want, got)
		})
	}
}

// TestPlacement: Kubernetes' own types arrive whole, also the values that are zero and said.
func TestPlacement(t *testing.T) {
	for name, tc := range map[string]struct{ settings, want string }{
		"nothing": {`{}`, `{}`},
		"everything": {
			`{nodeSelector: {a: b}, runtimeClassName: gvisor, priorityClassName: high, imagePullSecrets: [x, z], tolerations: [{key: k, operator: Exists, effect: NoExecute, tolerationSeconds: 0}],
				topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {}}], affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {matchExpressions: [{key: k, operator: Exists}]}}]}}}`,
			`{nodeSelector: {a: b}, runtimeClassName: gvisor, priorityClassName: high, imagePullSecrets: [{name: x}, {name: z}], tolerations: [{key: k, operator: Exists, effect: NoExecute, tolerationSeconds: 0}],
				topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {}}], affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {matchExpressions: [{key: k, operator: Exists}]}}]}}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			ac, settings := corev1ac.PodSpec(), read[mcpv1alpha1.PodSettings](t, tc.settings)
			if err := shape.Placement(ac, &settings); err != nil {
				t.Fatal(err)
			}
			differs(t, tc.want, ac)
		})
	}
}

// What is applied shares no memory with the spec, which comes from a cache that others read.
func TestPeersAreTheirOwn(t *testing.T) {
	selector := &mcpv1alpha1.LabelSelector{MatchLabels: map[string]mcpv1alpha1.LabelValue{"a": "b"}}
	got, err := shape.Peers([]mcpv1alpha1.NetworkPeer{{PodSelector: selector}})
	if err != nil {
		t.Fatal(err)
	}
	got[0].PodSelector.MatchLabels["a"] = "c"
	if selector.MatchLabels["a"] != "b" {
		t.Error("the spec has changed")
	}
}
