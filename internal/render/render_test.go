// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"strings"
	"testing"

	"toolgate.dev/toolgate/internal/render/rendertest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/render"
)

func revision(t *testing.T, s *mcpv1alpha1.MCPServer) string {
	t.Helper()
	name, err := render.Revision(s)
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// running is a probe that runs a command in the server's container.
func running(command ...string) *mcpv1alpha1.Probe { return &mcpv1alpha1.Probe{Exec: command} }

// asking is a probe that runs nothing there.
func asking() *mcpv1alpha1.Probe {
	return &mcpv1alpha1.Probe{HTTPGet: &mcpv1alpha1.HTTPProbe{Path: "/healthz", Port: 8080}, PeriodSeconds: new(int32(5))}
}

// TestRevisionsOutlastReleases has revisions as the first releases gave them: what an upgrade gives another one, it restarts, and
// first use begins anew for it.
func TestRevisionsOutlastReleases(t *testing.T) {
	for name, tc := range map[string]struct {
		server *mcpv1alpha1.MCPServer
		edit   func(*mcpv1alpha1.MCPServer)
		want   string
	}{
		"stdio":  {rendertest.Stdio(), func(*mcpv1alpha1.MCPServer) {}, "dde85e62a6"},
		"http":   {rendertest.Listening(), func(*mcpv1alpha1.MCPServer) {}, "9a1240bc0b"},
		"remote": {rendertest.Remote(), func(*mcpv1alpha1.MCPServer) {}, "ceaf467fc3"},
		"stdio, with probes that run nothing": {rendertest.Stdio(), func(s *mcpv1alpha1.MCPServer) {
			s.Spec.Container.LivenessProbe, s.Spec.Container.ReadinessProbe = asking(), &mcpv1alpha1.Probe{TCPPort: new(int32(8080))}
		}, "dde85e62a6"},
		"http, with probes that run nothing": {rendertest.Listening(), func(s *mcpv1alpha1.MCPServer) {
			s.Spec.Container.LivenessProbe, s.Spec.Container.ReadinessProbe, s.Spec.Container.StartupProbe = asking(), asking(), asking()
		}, "9a1240bc0b"},
	} {
		t.Run(name, func(t *testing.T) {
			tc.edit(tc.server)
			if got := revision(t, tc.server); got != tc.want {
				t.Errorf("the revision has become %s, was %s", got, tc.want)
			}
		})
	}
}

// TestRevisionTellsProbesApart: a command that moves from one probe to another runs at other times and as often as that one says.
func TestRevisionTellsProbesApart(t *testing.T) {
	seen := map[string]string{}
	for name, edit := range map[string]func(*mcpv1alpha1.Container){
		"liveness":         func(c *mcpv1alpha1.Container) { c.LivenessProbe = running("a", "b") },
		"readiness":        func(c *mcpv1alpha1.Container) { c.ReadinessProbe = running("a", "b") },
		"startup":          func(c *mcpv1alpha1.Container) { c.StartupProbe = running("a", "b") },
		"another argument": func(c *mcpv1alpha1.Container) { c.StartupProbe = running("a", "c") },
		"as one word":      func(c *mcpv1alpha1.Container) { c.StartupProbe = running("a b") },
	} {
		s := rendertest.Stdio()
		edit(s.Spec.Container)
		if other, taken := seen[revision(t, s)]; taken {
			t.Errorf("%s and %s have one revision", name, other)
		}
		seen[revision(t, s)] = name
	}
}

func TestRevisionCoversWhatReachesTheProcess(t *testing.T) {
	for name, edit := range map[string]func(*mcpv1alpha1.MCPServer){
		"the image":                     func(s *mcpv1alpha1.MCPServer) { s.Spec.Container.Image = "example.com/web:2" },
		"the command":                   func(s *mcpv1alpha1.MCPServer) { s.Spec.Container.Command = []string{"web"} },
		"an argument":                   func(s *mcpv1alpha1.MCPServer) { s.Spec.Container.Args = []string{"-v"} },
		"an argument in the command":    func(s *mcpv1alpha1.MCPServer) { s.Spec.Container.Command = []string{"-v"} },
		"the working directory":         func(s *mcpv1alpha1.MCPServer) { s.Spec.Container.WorkingDir = "/" },
		"a variable":                    func(s *mcpv1alpha1.MCPServer) { s.Spec.Container.Env[0].Value = "/" },
		"the order of variables":        func(s *mcpv1alpha1.MCPServer) { e := s.Spec.Container.Env; e[0], e[1] = e[1], e[0] },
		"the Secret of a variable":      func(s *mcpv1alpha1.MCPServer) { s.Spec.Container.Env[1].SecretKeyRef.Name = "x" },
		"a source of variables":         func(s *mcpv1alpha1.MCPServer) { s.Spec.Container.EnvFrom = s.Spec.Container.EnvFrom[:1] },
		"a mount":                       func(s *mcpv1alpha1.MCPServer) { s.Spec.Container.VolumeMounts[0].SubPath = "b" },
		"a volume that is mounted":      func(s *mcpv1alpha1.MCPServer) { s.Spec.Pod.Volumes[0].PersistentVolumeClaim = "x" },
		"what the liveness probe runs":  func(s *mcpv1alpha1.MCPServer) { s.Spec.Container.LivenessProbe = running("a") },
		"what the readiness probe runs": func(s *mcpv1alpha1.MCPServer) { s.Spec.Container.ReadinessProbe = running("a") },
		"what the startup probe runs":   func(s *mcpv1alpha1.MCPServer) { s.Spec.Container.StartupProbe = running("a") },
		"the domain model":              func(s *mcpv1alpha1.MCPServer) { s.Spec.DomainModel = nil },
		"the port":                      func(s *mcpv1alpha1.MCPServer) { s.Spec.Transport.Port = new(int32(1)) },
		"the path":                      func(s *mcpv1alpha1.MCPServer) { s.Spec.Transport.Path = "/other" },
		"a remote server in its stead":  func(s *mcpv1alpha1.MCPServer) { s.Spec = rendertest.Remote().Spec },
		"the transport, by all it says": func(s *mcpv1alpha1.MCPServer) { s.Spec.Transport = mcpv1alpha1.Transport{} },
	} {
		t.Run(name, func(t *testing.T) {
			s := rendertest.Listening()
			edit(s)
			if revision(t, s) == revision(t, rendertest.Listening()) {
				t.Error("the revision is the same")
			}
		})
	}
}

func TestRevisionLeavesOutTheRest(t *testing.T) {
	for name, edit := range map[string]func(*mcpv1alpha1.MCPServer){
		"replicas":  func(s *mcpv1alpha1.MCPServer) { s.Spec.Replicas = new(int32(9)) },
		"resources": func(s *mcpv1alpha1.MCPServer) { s.Spec.Container.Resources.Limits = nil },
		"trust":     func(s *mcpv1alpha1.MCPServer) { s.Spec.Trust.State = mcpv1alpha1.Trusted },
		"how often a probe runs": func(s *mcpv1alpha1.MCPServer) {
			s.Spec.Container.LivenessProbe = &mcpv1alpha1.Probe{TCPPort: new(int32(80)), PeriodSeconds: new(int32(9))}
		},
		"labels":                          func(s *mcpv1alpha1.MCPServer) { s.Spec.Pod.Labels = nil },
		"a volume that nothing mounts":    func(s *mcpv1alpha1.MCPServer) { s.Spec.Pod.Volumes = s.Spec.Pod.Volumes[:1] },
		"an empty list for an absent one": func(s *mcpv1alpha1.MCPServer) { s.Spec.Container.Args = []string{} },
		"the object's name":               func(s *mcpv1alpha1.MCPServer) { s.Name, s.UID = "other", "x" },
	} {
		t.Run(name, func(t *testing.T) {
			s := rendertest.Listening()
			edit(s)
			if got, want := revision(t, s), revision(t, rendertest.Listening()); got != want {
				t.Errorf("the revision has become %s, was %s", got, want)
			}
		})
	}
}

func TestInvalidTellsTheWayOut(t *testing.T) {
	for name, tc := range map[string]struct {
		edit func(*mcpv1alpha1.MCPServer)
		want string
	}{
		"a stdio server without a command": {func(s *mcpv1alpha1.MCPServer) { s.Spec.Container.Command = nil }, "spec.container.command is empty"},
		"neither container nor remote":     {func(s *mcpv1alpha1.MCPServer) { s.Spec.Container = nil }, "set spec.container"},
		"both":                             {func(s *mcpv1alpha1.MCPServer) { s.Spec.Remote = rendertest.Remote().Spec.Remote }, "only one of"},
		"no image":                         {func(s *mcpv1alpha1.MCPServer) { s.Spec.Container.Image = "" }, "spec.container.image is empty"},
		"a URL that is none":               {func(s *mcpv1alpha1.MCPServer) { s.Spec = rendertest.Remote().Spec; s.Spec.Remote.URL = "ftp://x" }, "is not an http or https URL"},
		"a port of the dispatcher's": {func(s *mcpv1alpha1.MCPServer) {
			s.Spec.Transport = mcpv1alpha1.Transport{Type: mcpv1alpha1.TransportStreamableHTTP, Port: new(int32(render.PortAdmin))}
		}, "one of the dispatcher's own"},
		"a peer that is nobody": {func(s *mcpv1alpha1.MCPServer) {
			s.Spec.Network.EgressTo = []mcpv1alpha1.EgressPeer{{Ports: []int32{443}}}
		}, "would mean everybody"},
		"a transport that is not there": {func(s *mcpv1alpha1.MCPServer) { s.Spec.Transport.Type = "pigeon" }, "is not one of"},
		"a size that is none": {func(s *mcpv1alpha1.MCPServer) {
			s.Spec.Pod.Volumes = []mcpv1alpha1.Volume{{Name: "x", EmptyDir: &mcpv1alpha1.EmptyDirVolume{SizeLimit: "much"}}}
		}, "is not a quantity"},
	} {
		t.Run(name, func(t *testing.T) {
			s := rendertest.Stdio()
			tc.edit(s)
			if got := render.Invalid(s); !strings.Contains(got, tc.want) {
				t.Errorf("%q does not say %q", got, tc.want)
			}
		})
	}
}

func TestDuplicates(t *testing.T) {
	tool := func(object, name string, person bool) mcpv1alpha1.MCPTool {
		t := mcpv1alpha1.MCPTool{ObjectMeta: metav1.ObjectMeta{Name: object}, Spec: mcpv1alpha1.MCPToolSpec{ToolName: name}}
		manager := render.FieldOwner
		if person {
			manager = "kubectl"
		}
		t.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: manager, FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:toolName":{}}}`)}}
		return t
	}
	for name, tc := range map[string]struct {
		tools []mcpv1alpha1.MCPTool
		want  []string
	}{
		"different tools":                         {[]mcpv1alpha1.MCPTool{tool("a", "x", false), tool("b", "y", false)}, nil},
		"two objects for one tool":                {[]mcpv1alpha1.MCPTool{tool("a", "x", true), tool("b", "x", true)}, []string{"a", "b"}},
		"names that differ in case":               {[]mcpv1alpha1.MCPTool{tool("a", "x", false), tool("b", "X", false)}, []string{"a", "b"}},
		"of which a person declared one":          {[]mcpv1alpha1.MCPTool{tool("a", "x", true), tool("b", "X", false)}, []string{"b"}},
		"of which people declared both":           {[]mcpv1alpha1.MCPTool{tool("a", "x", true), tool("b", "X", true)}, nil},
		"of which nobody meets one":               {[]mcpv1alpha1.MCPTool{tool("a", "x", false), tool("unmet", "X", false)}, nil},
		"two objects, of which nobody meets one":  {[]mcpv1alpha1.MCPTool{tool("a", "x", false), tool("unmet", "x", false)}, []string{"a", "unmet"}},
		"three of a kind, and one twice as it is": {[]mcpv1alpha1.MCPTool{tool("a", "x", true), tool("b", "x", false), tool("c", "X", true)}, []string{"a", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := render.Duplicates(tc.tools, func(t *mcpv1alpha1.MCPTool) bool { return t.Name != "unmet" })
			if len(got) != len(tc.want) {
				t.Errorf("got %v, want messages for %v", got, tc.want)
			}
			for _, object := range tc.want {
				if got[object].What == "" || got[object].WayOut == "" {
					t.Errorf("nothing is said of %s in %v", object, got)
				}
			}
		})
	}
}

func TestOwnedByPeople(t *testing.T) {
	for name, tc := range map[string]struct {
		entry metav1.ManagedFieldsEntry
		want  bool
	}{
		"our own":                      {metav1.ManagedFieldsEntry{Manager: render.FieldOwner, FieldsV1: metav1.NewFieldsV1(`{"f:spec":{}}`)}, false},
		"a person's field":             {metav1.ManagedFieldsEntry{Manager: "kubectl", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:pin":{}}}`)}, true},
		"a label of somebody's":        {metav1.ManagedFieldsEntry{Manager: "kubectl", FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:labels":{}}}`)}, false},
		"a status":                     {metav1.ManagedFieldsEntry{Manager: "x", Subresource: "status", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{}}`)}, false},
		"something that can't be read": {metav1.ManagedFieldsEntry{Manager: "x", FieldsV1: metav1.NewFieldsV1(`{`)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			tool := &mcpv1alpha1.MCPTool{ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{tc.entry}}}
			if got := render.OwnedByPeople(tool); got != tc.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestPeersNamesAreLabels(t *testing.T) {
	seen := map[string]string{}
	for _, server := range []string{"a", strings.Repeat("b", 57), strings.Repeat("b", 58), strings.Repeat("b", 62) + "c", strings.Repeat("b", 63)} {
		name := render.PeersName(server)
		if len(name) > 63 || !strings.HasSuffix(name, "-peers") || seen[name] != "" {
			t.Errorf("%s and %q: %s", server, seen[name], name)
		}
		seen[name] = server
	}
}
