// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// strictServer is what a spec means that says nothing.
const strictServer = `
state: Enabled
transport: {type: stdio, isolation: Session}
replicas: 1
scaling: Internal
rollout: {type: RollingUpdate}
restartOn: References
pod: {terminationGracePeriodSeconds: 60}
dispatcher: {logLevel: info}
service: {type: ClusterIP, port: 80}
network: {egress: Internet}
timeoutSeconds: 30
limits: {requestsPerMinute: 100, maxConcurrent: 16, maxSessions: 20, sessionIdleSeconds: 1800, maxRequestBytes: 4194304, maxResponseBytes: 16777216}
health: {intervalSeconds: 15, timeoutSeconds: 5, failureThreshold: 3}
discovery: {ttlSeconds: 300, pinning: PerRevision}
trust: {state: Untrusted, maxStalenessSeconds: 600}
gating: {destructive: Block, unannotated: Destructive, scope: Destructive, blockedTools: List}
confirm: {by: Approver, ttlSeconds: 300}
expose: {tools: Allow, resources: Allow, prompts: Allow, completions: Allow}
clientFeatures: {sampling: Allow, samplingTools: Deny, elicitationForm: Allow, elicitationUrl: Deny, roots: Allow}
validation: {arguments: Enforce, results: Warn, formats: Annotate}
audit: {payloads: None, onFailure: BlockDestructive}
`

func TestEffectiveServer(t *testing.T) {
	forever := func(s *MCPServerSpec) { s.Trust.State = Trusted }
	tests := map[string]struct {
		spec   func(*MCPServerSpec)
		change func(*MCPServerSpec)
	}{
		"an absent parent is the strict value": {
			spec:   func(*MCPServerSpec) {},
			change: func(*MCPServerSpec) {},
		},
		"one switch in a parent leaves its neighbours strict": {
			spec:   func(s *MCPServerSpec) { s.Gating.BlockedTools = BlockedHide },
			change: func(s *MCPServerSpec) { s.Gating.BlockedTools = BlockedHide },
		},
		"a number of 0 is not an absent number": {
			spec:   func(s *MCPServerSpec) { s.Limits.RequestsPerMinute = new(int32(0)) },
			change: func(s *MCPServerSpec) { s.Limits.RequestsPerMinute = new(int32(0)) },
		},
		"a remote server is reached over HTTP and has no isolation": {
			spec: func(s *MCPServerSpec) { s.Remote = &Remote{URL: "https://mcp.example.com/mcp"} },
			change: func(s *MCPServerSpec) {
				s.Remote = &Remote{URL: "https://mcp.example.com/mcp"}
				s.Transport = Transport{Type: TransportStreamableHTTP}
			},
		},
		"a server that listens has a port and a path and no isolation": {
			spec: func(s *MCPServerSpec) { s.Transport.Type = TransportStreamableHTTP },
			change: func(s *MCPServerSpec) {
				s.Transport = Transport{Type: TransportStreamableHTTP, Port: new(int32(8080)), Path: "/mcp"}
			},
		},
		"a server of older days has a path of its own": {
			spec: func(s *MCPServerSpec) { s.Transport.Type = TransportSSE },
			change: func(s *MCPServerSpec) {
				s.Transport = Transport{Type: TransportSSE, Port: new(int32(8080)), Path: "/sse"}
			},
		},
		"a server over WebSocket has that of streamable HTTP": {
			spec: func(s *MCPServerSpec) { s.Transport = Transport{Type: TransportWebSocket, Port: new(int32(81))} },
			change: func(s *MCPServerSpec) {
				s.Transport = Transport{Type: TransportWebSocket, Port: new(int32(81)), Path: "/mcp"}
			},
		},
		"trust without an end allows what is sensitive": {
			spec: forever,
			change: func(s *MCPServerSpec) {
				forever(s)
				s.ClientFeatures.SamplingTools, s.ClientFeatures.ElicitationURL = Allow, Allow
			},
		},
		"trust with an end does not, since nobody switches it back": {
			spec: func(s *MCPServerSpec) {
				forever(s)
				s.Trust.ExpiresAt = &metav1.Time{Time: time.Unix(1900000000, 0)}
			},
			change: func(s *MCPServerSpec) {
				forever(s)
				s.Trust.ExpiresAt = &metav1.Time{Time: time.Unix(1900000000, 0)}
			},
		},
		"a server in a container writes to its files, unless the spec says that it must not": {
			spec: func(s *MCPServerSpec) { s.Container = &Container{Image: "a"} },
			change: func(s *MCPServerSpec) {
				s.Container = &Container{Image: "a", SecurityContext: ContainerSecurity{RootFilesystem: VolumeReadWrite}}
			},
		},
		"an explicit Allow holds while untrusted": {
			spec:   func(s *MCPServerSpec) { s.ClientFeatures.ElicitationURL = Allow },
			change: func(s *MCPServerSpec) { s.ClientFeatures.ElicitationURL = Allow },
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var spec, want MCPServerSpec
			if err := yaml.UnmarshalStrict([]byte(strictServer), &want); err != nil {
				t.Fatal(err)
			}
			tc.spec(&spec)
			tc.change(&want)
			before := spec.DeepCopy()
			got := spec.Effective()
			if diff := cmp.Diff(&want, got); diff != "" {
				t.Errorf("Effective (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, &spec); diff != "" {
				t.Errorf("Effective changed the spec itself:\n%s", diff)
			}
			if diff := cmp.Diff(got, got.Effective()); diff != "" {
				t.Errorf("Effective of Effective differs:\n%s", diff)
			}
		})
	}
}

func TestEffectiveToolAndRuleSet(t *testing.T) {
	tool := (&MCPToolSpec{ToolName: "a"}).Effective()
	if diff := cmp.Diff(&MCPToolSpec{ToolName: "a", State: StateEnabled}, tool); diff != "" {
		t.Errorf("MCPTool (-want +got):\n%s", diff)
	}
	written := &RuleSetSpec{Type: RuleSetSafety, Tools: &ToolSelector{Names: []string{"a"}}}
	before, set := written.DeepCopy(), written.Effective()
	if diff := cmp.Diff(before, written); diff != "" {
		t.Errorf("Effective changed the spec itself:\n%s", diff)
	}
	want := &RuleSetSpec{
		Type: RuleSetSafety, Priority: new(int32(0)), Enforcement: EnforcementEnforce, Format: RuleFormatCEL,
		Tools: &ToolSelector{Names: []string{"a"}, Destructive: DestructiveAny}, Methods: []string{"tools/call"},
	}
	if diff := cmp.Diff(want, set); diff != "" {
		t.Errorf("RuleSet (-want +got):\n%s", diff)
	}
}
