// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rendertest has the servers, tools and sets that the tests of the renderers share, and their golden files. It
// must not import what it is a fixture of.
package rendertest

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/render"
)

var update = flag.Bool("update", false, "write the golden files anew")

// Golden compares with testdata/<name>; -update writes it.
func Golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; write it with: go test ./internal/render/{workload,document,index} -update", err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got); if that is meant: go test ./internal/render/{workload,document,index} -update\n%s", path, diff)
	}
}

// YAML is an object as a person reads it.
func YAML(t *testing.T, object any) []byte {
	t.Helper()
	data, err := yaml.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Must is for calls that cannot fail in a test.
func Must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Named is a server of a spec, with all that the API server would have put in.
func Named(name string, spec mcpv1alpha1.MCPServerSpec) *mcpv1alpha1.MCPServer {
	return &mcpv1alpha1.MCPServer{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: "11111111-2222-3333-4444-555555555555"},
		Spec:       spec,
	}
}

// Stdio is the smallest server: an image and a command.
func Stdio() *mcpv1alpha1.MCPServer {
	return Named("files", mcpv1alpha1.MCPServerSpec{
		Container: &mcpv1alpha1.Container{Image: "example.com/files:1", Command: []string{"files"}, Args: []string{"--root", "/data"}},
	})
}

// Listening is a server with most of what a person can set.
func Listening() *mcpv1alpha1.MCPServer {
	return Named("web", mcpv1alpha1.MCPServerSpec{
		Replicas:  new(int32(3)),
		Transport: mcpv1alpha1.Transport{Type: mcpv1alpha1.TransportStreamableHTTP, Port: new(int32(3001)), Path: "/rpc"},
		Container: &mcpv1alpha1.Container{
			Image: "example.com/web:1", ImagePullPolicy: corev1.PullIfNotPresent, WorkingDir: "/srv",
			Env: []mcpv1alpha1.EnvVar{
				{Name: "HOME", Value: "/srv"},
				{Name: "TOKEN", SecretKeyRef: &mcpv1alpha1.KeyRef{Name: "web", Key: "token"}},
				{Name: "MODE", ConfigMapKeyRef: &mcpv1alpha1.KeyRef{Name: "web", Key: "mode"}},
			},
			EnvFrom:      []mcpv1alpha1.EnvFrom{{Prefix: "WEB_", ConfigMapRef: "web"}, {SecretRef: "web"}},
			Resources:    corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("256Mi")}},
			VolumeMounts: []mcpv1alpha1.VolumeMount{{Name: "data", MountPath: "/data", SubPath: "a", Access: mcpv1alpha1.VolumeReadOnly}},
		},
		Pod: mcpv1alpha1.PodSettings{
			Labels:                        map[string]mcpv1alpha1.LabelValue{"team": "a", render.LabelServer: "another"},
			Annotations:                   map[string]string{"example.com/note": "x"},
			ServiceAccountName:            "web-account",
			ImagePullSecrets:              []string{"pull"},
			Volumes:                       []mcpv1alpha1.Volume{{Name: "data", PersistentVolumeClaim: "web"}, {Name: "config", ConfigMap: "web"}, {Name: "scratch", EmptyDir: &mcpv1alpha1.EmptyDirVolume{SizeLimit: "64Mi"}}},
			NodeSelector:                  map[string]mcpv1alpha1.LabelValue{"disk": "fast"},
			Tolerations:                   []corev1.Toleration{{Key: "gpu", Operator: corev1.TolerationOpExists}},
			TerminationGracePeriodSeconds: new(int64(120)),
		},
		Dispatcher:  mcpv1alpha1.DispatcherSettings{LogLevel: "debug", Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("128Mi")}}},
		DomainModel: &mcpv1alpha1.DomainModel{ConfigMapKeyRef: mcpv1alpha1.KeyRef{Name: "web", Key: "model"}, Format: mcpv1alpha1.ModelTurtle},
		Network: mcpv1alpha1.Network{
			IngressFrom: []mcpv1alpha1.NetworkPeer{{CIDR: "192.0.2.0/24"}, {NamespaceSelector: &mcpv1alpha1.LabelSelector{}}},
			MetricsFrom: []mcpv1alpha1.NetworkPeer{{PodSelector: &mcpv1alpha1.LabelSelector{MatchLabels: map[string]mcpv1alpha1.LabelValue{"app": "prometheus"}}}},
			EgressTo:    []mcpv1alpha1.EgressPeer{{PodSelector: &mcpv1alpha1.LabelSelector{MatchLabels: map[string]mcpv1alpha1.LabelValue{"app": "db"}}, Ports: []int32{5432}}},
		},
		Gating:    mcpv1alpha1.Gating{Destructive: mcpv1alpha1.GateConfirm},
		Confirm:   mcpv1alpha1.Confirm{By: mcpv1alpha1.ConfirmByCaller, TTLSeconds: new(int32(120))},
		Telemetry: mcpv1alpha1.Telemetry{OTLPEndpoint: "http://collector.observability:4318"},
		Audit:     mcpv1alpha1.Audit{Payloads: mcpv1alpha1.PayloadsArguments, Redact: []string{"iban", "/a/b"}, OnFailure: mcpv1alpha1.AuditBlock},
		Service:   mcpv1alpha1.ServiceSettings{Type: corev1.ServiceTypeLoadBalancer, Port: new(int32(8443)), Annotations: map[string]string{"lb": "internal"}, Hosts: []string{"web.example.com", "mcp.example.com"}},
	})
}

// Remote is a server that runs elsewhere.
func Remote() *mcpv1alpha1.MCPServer {
	return Named("billing", mcpv1alpha1.MCPServerSpec{
		Remote: &mcpv1alpha1.Remote{
			URL: "https://mcp.example.com/mcp",
			HeadersFrom: []mcpv1alpha1.HeaderFrom{
				{Name: "X-Tenant", SecretKeyRef: mcpv1alpha1.KeyRef{Name: "billing", Key: "tenant"}},
				{Name: "Authorization", SecretKeyRef: mcpv1alpha1.KeyRef{Name: "billing", Key: "authorization"}},
			},
			CABundleFrom: &mcpv1alpha1.KeyRef{Name: "ca", Key: "ca.crt"},
		},
	})
}

// Servers are the three by name.
func Servers() map[string]*mcpv1alpha1.MCPServer {
	return map[string]*mcpv1alpha1.MCPServer{"stdio": Stdio(), "http": Listening(), "remote": Remote()}
}

// Tools are MCPTools of a server, of every kind that a document tells apart.
func Tools(server string) []mcpv1alpha1.MCPTool {
	tool := func(name string, edit func(*mcpv1alpha1.MCPTool)) mcpv1alpha1.MCPTool {
		t := mcpv1alpha1.MCPTool{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: server + "." + name},
			Spec:       mcpv1alpha1.MCPToolSpec{ServerRef: mcpv1alpha1.ServerRef{Name: server}, ToolName: name},
			Status: mcpv1alpha1.MCPToolStatus{
				Observed:   &mcpv1alpha1.ObservedTool{Digest: "v1:sha256:" + name},
				Pins:       []mcpv1alpha1.RevisionPin{{Revision: "old", Digest: "v1:sha256:old-" + name}},
				Conditions: []metav1.Condition{{Type: mcpv1alpha1.ConditionRegistered, Status: metav1.ConditionTrue, Reason: "Registered"}},
			},
		}
		edit(&t)
		return t
	}
	return []mcpv1alpha1.MCPTool{
		tool("plain", func(*mcpv1alpha1.MCPTool) {}),
		tool("hinted", func(t *mcpv1alpha1.MCPTool) {
			t.Spec.Hints = mcpv1alpha1.Hints{Destructive: mcpv1alpha1.HintFalse, ReadOnly: mcpv1alpha1.HintTrue}
			t.Spec.Pin = &mcpv1alpha1.Pin{Digest: "v1:sha256:pinned"}
			t.Spec.TimeoutSeconds = new(int32(5))
			t.Spec.Limits = &mcpv1alpha1.ToolLimits{RequestsPerMinute: new(int32(30)), MaxConcurrent: new(int32(2))}
			t.Spec.Contract = &mcpv1alpha1.Contract{Version: "1.2.3", DeprecatedIn: "2.0.0"}
			t.Spec.RuleSets = []string{"named", "missing"}
		}),
		tool("promised", func(t *mcpv1alpha1.MCPTool) { t.Status.ContractBroken = []string{"v1:sha256:old-promised"} }),
		tool("disabled", func(t *mcpv1alpha1.MCPTool) { t.Spec.State = mcpv1alpha1.StateDisabled }),
		tool("schemaless", func(t *mcpv1alpha1.MCPTool) {
			t.Status.Conditions = []metav1.Condition{{Type: mcpv1alpha1.ConditionRegistered, Status: metav1.ConditionFalse, Reason: "NoInputSchema", Message: "no inputSchema"}}
		}),
	}
}

// RuleSets are sets of every kind that a document tells apart.
func RuleSets() []mcpv1alpha1.RuleSet {
	set := func(name string, spec mcpv1alpha1.RuleSetSpec) mcpv1alpha1.RuleSet {
		return mcpv1alpha1.RuleSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Generation: 3}, Spec: spec}
	}
	elsewhere := &mcpv1alpha1.ServerSelector{Names: []string{"another"}}
	return []mcpv1alpha1.RuleSet{
		set("selecting", mcpv1alpha1.RuleSetSpec{
			Type: mcpv1alpha1.RuleSetSafety, Priority: new(int32(10)), Enforcement: mcpv1alpha1.EnforcementAudit,
			Tools:   &mcpv1alpha1.ToolSelector{Names: []string{"pl*"}, Destructive: mcpv1alpha1.DestructiveOnly},
			Callers: &mcpv1alpha1.CallerSelector{Names: []string{"ci-*"}, Namespaces: []string{"batch"}, Groups: []string{"contractors"}},
			Methods: []string{"tools/call", "resources/read"},
			Rules: []mcpv1alpha1.Rule{
				{Name: "a", Action: mcpv1alpha1.ActionReject, When: "true", Message: "no", MessageExpression: `"no"`, Priority: new(int32(-1))},
				{Name: "b", Action: mcpv1alpha1.ActionWarn, Require: "has(args.path)"},
			},
		}),
		set("schema", mcpv1alpha1.RuleSetSpec{
			Type: mcpv1alpha1.RuleSetValidation, Format: mcpv1alpha1.RuleFormatJSONSchema,
			Rules: []mcpv1alpha1.Rule{{Name: "s", Action: mcpv1alpha1.ActionReject, Schema: &runtime.RawExtension{Raw: []byte(`{"required":["path"]}`)}}},
		}),
		set("named", mcpv1alpha1.RuleSetSpec{Type: mcpv1alpha1.RuleSetPolicy, Servers: elsewhere, Rules: []mcpv1alpha1.Rule{{Name: "r", Action: mcpv1alpha1.ActionAllow, When: "true"}}}),
		set("broken", mcpv1alpha1.RuleSetSpec{Type: mcpv1alpha1.RuleSetPolicy, Rules: []mcpv1alpha1.Rule{{Name: "x", Action: mcpv1alpha1.ActionReject, When: "("}}}),
		set("elsewhere", mcpv1alpha1.RuleSetSpec{Type: mcpv1alpha1.RuleSetPolicy, Servers: elsewhere}),
	}
}
