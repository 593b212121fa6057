// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package decide_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers/decide"
	"toolgate.dev/toolgate/controllers/polled"
	"toolgate.dev/toolgate/controllers/waves"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/render"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func server() *mcpv1alpha1.MCPServer {
	return &mcpv1alpha1.MCPServer{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "files", Generation: 2},
		Spec:       mcpv1alpha1.MCPServerSpec{Container: &mcpv1alpha1.Container{Image: "x", Command: []string{"x"}}},
	}
}

// pod serves revision r1, has answered, enforces document d1 and lists tools.
func pod(name string, edits ...func(*decide.Pod)) decide.Pod {
	p := decide.Pod{
		Pod: &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{render.LabelRevision: "r1"}},
			Status:     corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
		},
		Seen: polled.Observation{State: &registry.State{
			Registry:  registry.RegistryState{Digest: "d1", Sequence: 1},
			Upstream:  registry.UpstreamState{Phase: registry.UpstreamConnected},
			Catalogue: &registry.Catalogue{Digest: "c1", Tools: []registry.ObservedTool{{Name: "a", Digest: "a1"}}},
			Health:    registry.HealthState{State: "Healthy"},
		}},
	}
	for _, edit := range edits {
		edit(&p)
	}
	return p
}

func notReady(p *decide.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse }
func silent(p *decide.Pod)   { p.Seen = polled.Observation{} }
func of(rev string) func(*decide.Pod) {
	return func(p *decide.Pod) { p.Labels[render.LabelRevision] = rev }
}
func lists(digest string, tools ...registry.ObservedTool) func(*decide.Pod) {
	return func(p *decide.Pod) { p.Seen.State.Catalogue = &registry.Catalogue{Digest: digest, Tools: tools} }
}

// registered is the MCPTool of what pods list.
func registered() []mcpv1alpha1.MCPTool {
	return []mcpv1alpha1.MCPTool{{
		Spec:   mcpv1alpha1.MCPToolSpec{ToolName: "a"},
		Status: mcpv1alpha1.MCPToolStatus{Conditions: []metav1.Condition{{Type: "Registered", Status: metav1.ConditionTrue, Reason: "Registered"}}},
	}}
}

func conditions(list []metav1.Condition) map[string]string {
	out := map[string]string{}
	for _, c := range list {
		out[c.Type] = string(c.Status) + "/" + c.Reason
	}
	return out
}

func TestServerConditions(t *testing.T) {
	for name, tc := range map[string]struct {
		edit func(*decide.ServerInput)
		want map[string]string
	}{
		"all is well": {func(*decide.ServerInput) {}, map[string]string{"Upgraded": "True/UpToDate", "Ready": "True/Ready", "Enforced": "True/Enforced", "Healthy": "True/Healthy"}},
		"one of three pods serves": {func(in *decide.ServerInput) { in.Server.Spec.Replicas = new(int32(3)) },
			map[string]string{"Available": "False/Progressing", "Ready": "False/Progressing"}},
		"a pod on its way out does not serve": {func(in *decide.ServerInput) { in.Pods[0].DeletionTimestamp = &metav1.Time{Time: now} },
			map[string]string{"Available": "False/Progressing"}},
		"old pods serve while the new revision fails": {func(in *decide.ServerInput) {
			in.Revision = "r2"
			in.Pods = append(in.Pods, pod("b", of("r2"), notReady, func(p *decide.Pod) {
				p.Seen.State.Catalogue = nil
				p.Seen.State.Upstream = registry.UpstreamState{Phase: registry.UpstreamFailed, Reason: registry.FailExited, Message: "exit status 1"}
			}))
		}, map[string]string{"Available": "True/Available", "Discovered": "False/ServerExited", "Ready": "False/ServerExited"}},
		"the scheduler finds no node": {func(in *decide.ServerInput) {
			in.Pods = []decide.Pod{pod("a", silent, notReady, func(p *decide.Pod) {
				p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/3 nodes"})
			})}
		}, map[string]string{"Available": "False/Unschedulable", "Ready": "False/Unschedulable"}},
		"pods are refused": {func(in *decide.ServerInput) {
			in.Pods = nil
			in.Deployment.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: "exceeded quota"}}
		}, map[string]string{"Available": "False/PodsRefused"}},
		"an account is missing": {func(in *decide.ServerInput) {
			in.Pods = nil
			in.Deployment.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: `serviceaccount "x" not found`}}
		}, map[string]string{"Available": "False/ReferenceNotFound"}},
		"a document that can't be written because of its name": {func(in *decide.ServerInput) {
			in.DocumentError = decide.Refusal{Reason: "NameConflict", Message: "x"}
			in.Deployment, in.Pods, in.Document = nil, nil, ""
		}, map[string]string{"Accepted": "False/NameConflict", "Available": "False/NameConflict", "Ready": "False/NameConflict"}},
		"a document that is too large denies everything": {func(in *decide.ServerInput) {
			in.DocumentError = decide.Refusal{Reason: "RegistryTooLarge", Message: "x"}
		}, map[string]string{"Accepted": "True/Accepted", "Enforced": "False/RegistryTooLarge", "Ready": "False/RegistryTooLarge"}},
		"it waits for its turn to be upgraded": {func(in *decide.ServerInput) { in.Upgrade = waves.Waiting },
			map[string]string{"Upgraded": "False/UpgradeWaiting", "Ready": "True/Ready"}},
		"it waits, and the release names its revision in another way": {func(in *decide.ServerInput) { in.Upgrade, in.Revision = waves.Waiting, "r2" },
			map[string]string{"Upgraded": "False/UpgradeWaiting", "Discovered": "True/Discovered", "Ready": "True/Ready"}},
		"its upgrade is on its way": {func(in *decide.ServerInput) { in.Upgrade = waves.Upgrading }, map[string]string{"Upgraded": "False/Progressing"}},
		"its upgrade does not arrive": {func(in *decide.ServerInput) {
			in.Upgrade = waves.Upgrading
			in.Deployment.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Reason: "ProgressDeadlineExceeded", Message: "too long"}}
		}, map[string]string{"Upgraded": "False/UpgradeFailed"}},
		"a document of two forms is in force in either": {func(in *decide.ServerInput) {
			in.Piece = "d0"
			in.Pods[0].Seen.State.Registry = registry.RegistryState{Digest: "d0"}
		}, map[string]string{"Enforced": "True/Enforced"}},
		"a dispatcher has only what denies everything": {func(in *decide.ServerInput) {
			in.Piece, in.PieceClosed = "d0", true
			in.Pods[0].Seen.State.Registry = registry.RegistryState{Digest: "d0"}
		}, map[string]string{"Enforced": "False/RegistryTooLarge"}},
		"a dispatcher refuses the document": {func(in *decide.ServerInput) {
			in.Pods[0].Seen.State.Registry = registry.RegistryState{Digest: "d0", Error: "version 2"}
		}, map[string]string{"Enforced": "False/RegistryRefused"}},
		"a dispatcher has become silent with an old document": {func(in *decide.ServerInput) {
			in.Pods[0].Seen.State.Registry.Digest = "d0"
			in.Pods[0].Seen.Err, in.Pods[0].Seen.FailingSince = "no answer in time", now.Add(-decide.Unreachable)
		}, map[string]string{"Enforced": "False/DispatcherUnreachable"}},
		"a server is unhealthy": {func(in *decide.ServerInput) {
			in.Pods[0].Seen.State.Health = registry.HealthState{State: "Unhealthy", ConsecutiveFailures: 3, Message: "no answer to ping"}
		}, map[string]string{"Healthy": "False/Unhealthy", "Ready": "False/Unhealthy"}},
		"a tool has no object yet": {func(in *decide.ServerInput) { in.Tools = nil },
			map[string]string{"Discovered": "False/Progressing", "Ready": "False/Progressing"}},
		"a tool can have no object": {func(in *decide.ServerInput) {
			in.Tools, in.LeftOut = nil, map[string]decide.Refusal{"a": {Reason: "ApplyFailed", Message: "its name is too long"}}
		}, map[string]string{"Discovered": "True/ToolsWithheld", "Ready": "True/Ready"}},
		"the API server takes nothing of a release": {func(in *decide.ServerInput) {
			in.Upgrade, in.Held = waves.Refused, decide.Refusal{Reason: "ApplyFailed", Message: "no such image is allowed"}
		}, map[string]string{"Upgraded": "False/UpgradeFailed"}},
		"its pods are held back since a manager began": {func(in *decide.ServerInput) {
			in.Upgrade, in.Held = waves.Untold, decide.Refusal{Reason: "NameConflict", Message: "NetworkPolicy files"}
			in.Server.Status.Conditions = is("Upgraded=True/UpToDate")
		}, map[string]string{"Upgraded": "Unknown/NameConflict"}},
		"there is no answer since a manager began": {func(in *decide.ServerInput) {
			in.Upgrade, in.Unanswered = waves.Untold, true
			in.Server.Status.Conditions = is("Upgraded=False/UpgradeWaiting")
		}, map[string]string{"Upgraded": "False/UpgradeWaiting"}},
		"there is no answer, and never was": {func(in *decide.ServerInput) { in.Upgrade, in.Unanswered = waves.Untold, true },
			map[string]string{"Upgraded": "Unknown/Pending"}},
		"what was refused stays told while there is no answer": {func(in *decide.ServerInput) {
			in.Unanswered, in.Upgrade = true, waves.Refused
			in.Server.Status.Conditions = is("Accepted=False/ApplyFailed: no quota", "Upgraded=False/UpgradeFailed: no quota")
		}, map[string]string{"Accepted": "False/ApplyFailed", "Upgraded": "False/UpgradeFailed"}},
		"what was refused is so no more where all was taken": {func(in *decide.ServerInput) {
			in.Server.Status.Conditions = is("Accepted=False/ApplyFailed: no quota")
		}, map[string]string{"Accepted": "True/Accepted"}},
		"what was taken stays so while there is no answer": {func(in *decide.ServerInput) {
			in.Unanswered = true
			in.Server.Status.Conditions = is("Accepted=True/Accepted")
		}, map[string]string{"Accepted": "True/Accepted"}},
		"the document is behind what people wrote": {func(in *decide.ServerInput) {
			in.DocumentStale = true
			in.Server.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Ready"}}
		}, map[string]string{"Enforced": "False/Progressing", "Ready": "True/Progressing"}},
		"the document is behind for longer than it should be": {func(in *decide.ServerInput) {
			in.DocumentStale = true
			in.Server.Status.Conditions = is("Ready=True/Ready", "Enforced=False/Progressing")
			in.Server.Status.Conditions[1].LastTransitionTime = metav1.NewTime(now.Add(-decide.Grace))
		}, map[string]string{"Enforced": "False/Lagging", "Ready": "False/Lagging"}},
		"the document is on its way after it was refused for long": {func(in *decide.ServerInput) {
			in.DocumentStale = true
			in.Server.Status.Conditions = is("Ready=False/InvalidSpec", "Enforced=False/InvalidSpec")
			in.Server.Status.Conditions[1].LastTransitionTime = metav1.NewTime(now.Add(-time.Hour))
		}, map[string]string{"Enforced": "False/Progressing"}},
		"a dispatcher has become silent with the current document": {func(in *decide.ServerInput) {
			in.Server.Status.Conditions = is("Healthy=True/Healthy")
			in.Pods[0].Seen.Err, in.Pods[0].Seen.FailingSince = "no answer in time", now.Add(-decide.Unreachable)
		}, map[string]string{"Healthy": "Unknown/DispatcherUnreachable", "Ready": "False/DispatcherUnreachable"}},
		"a dispatcher has become silent after it called its server unhealthy": {func(in *decide.ServerInput) {
			in.Pods[0].Seen.State.Health.State = "Unhealthy"
			in.Pods[0].Seen.Err, in.Pods[0].Seen.FailingSince = "no answer in time", now.Add(-decide.Unreachable)
		}, map[string]string{"Healthy": "Unknown/DispatcherUnreachable"}},
		"a dispatcher has missed an answer": {func(in *decide.ServerInput) {
			in.Pods[0].Seen.Err, in.Pods[0].Seen.FailingSince = "no answer in time", now.Add(-time.Second)
		}, map[string]string{"Healthy": "True/Healthy", "Ready": "True/Ready"}},
		"a pod that serves has never answered": {func(in *decide.ServerInput) {
			in.Server.Status.Conditions = is("Healthy=True/Healthy")
			in.Pods = []decide.Pod{pod("a", silent)}
			in.Pods[0].Seen.Err, in.Pods[0].Seen.FailingSince = "no answer in time", now.Add(-decide.Unreachable)
		}, map[string]string{"Healthy": "Unknown/DispatcherUnreachable"}},
		"a pod that comes up does not answer yet": {func(in *decide.ServerInput) {
			in.Pods = []decide.Pod{pod("a", silent, notReady, func(p *decide.Pod) { p.Status.PodIP = "10.0.0.1" })}
			in.Pods[0].Seen.Err, in.Pods[0].Seen.FailingSince = "no answer in time", now.Add(-decide.Unreachable)
		}, map[string]string{"Healthy": "Unknown/Pending"}},
		"the only pod does not serve any more, and has said nothing to a manager that began after that": {func(in *decide.ServerInput) {
			in.Server.Status.Conditions = is("Healthy=True/Healthy")
			in.Pods = []decide.Pod{pod("a", silent, notReady, func(p *decide.Pod) { p.Status.PodIP = "10.0.0.1" })}
			in.Pods[0].Seen.Err, in.Pods[0].Seen.FailingSince = "connection refused", now.Add(-decide.Unreachable)
		}, map[string]string{"Healthy": "Unknown/Pending"}},
		"all pods are gone": {func(in *decide.ServerInput) {
			in.Server.Status.Conditions = is("Healthy=True/Healthy")
			in.Pods = nil
		}, map[string]string{"Healthy": "Unknown/Pending"}},
		"the only pod waits for a node": {func(in *decide.ServerInput) {
			in.Server.Status.Conditions = is("Healthy=True/Healthy")
			in.Pods = []decide.Pod{pod("a", silent, notReady)}
		}, map[string]string{"Healthy": "Unknown/Pending"}},
		"the NetworkPolicy of a server with a port may be somebody else's": {func(in *decide.ServerInput) {
			in.Server.Spec.Transport.Type = mcpv1alpha1.TransportStreamableHTTP
			in.Guard.Refused = decide.Refusal{Reason: "NameConflict", Message: "x"}
			in.Refused = in.Guard.Refused
		}, map[string]string{"Accepted": "False/NameConflict", "Protected": "Unknown/NameConflict"}},
		"the NetworkPolicy was refused, and there is no answer since": {func(in *decide.ServerInput) {
			in.Server.Spec.Transport.Type = mcpv1alpha1.TransportStreamableHTTP
			in.Guard.Unanswered, in.Server.Status.Conditions = true, is("Protected=Unknown/NameConflict: x")
		}, map[string]string{"Protected": "Unknown/NameConflict"}},
		"the NetworkPolicy has never been written": {func(in *decide.ServerInput) {
			in.Server.Spec.Transport.Type = mcpv1alpha1.TransportStreamableHTTP
			in.Guard.Unanswered = true
		}, map[string]string{"Protected": "Unknown/Pending"}},
		"something else than the NetworkPolicy is refused": {func(in *decide.ServerInput) {
			in.Server.Spec.Transport.Type = mcpv1alpha1.TransportStreamableHTTP
			in.Refused = decide.Refusal{Reason: "NameConflict", Message: "x"}
		}, map[string]string{"Protected": "True/Guarded"}},
		"a server with a port": {func(in *decide.ServerInput) { in.Server.Spec.Transport.Type = mcpv1alpha1.TransportStreamableHTTP },
			map[string]string{"Protected": "True/Guarded"}},
		"no pod serves, so nobody enforces anything": {func(in *decide.ServerInput) { in.Pods = nil },
			map[string]string{"Enforced": "Unknown/Pending"}},
		"the first document is on its way": {func(in *decide.ServerInput) { in.DocumentStale = true },
			map[string]string{"Enforced": "False/Progressing", "Ready": "False/Progressing"}},
		"a RuleSet is named and missing": {func(in *decide.ServerInput) { in.MissingRuleSets = []string{"x"} },
			map[string]string{"Accepted": "False/RuleSetNotFound", "Ready": "False/RuleSetNotFound"}},
		"a remote server that anybody can reach": {func(in *decide.ServerInput) {
			in.Server.Spec.Container, in.Server.Spec.Remote = nil, &mcpv1alpha1.Remote{URL: "https://example.com/mcp"}
		}, map[string]string{"Protected": "False/Unguarded", "Ready": "True/Ready"}},
	} {
		t.Run(name, func(t *testing.T) {
			in := decide.ServerInput{
				Server: server(), Now: now, Revision: "r1", Deployment: &appsv1.Deployment{}, Pods: []decide.Pod{pod("a")}, Document: "d1", Tools: registered(), Upgrade: waves.Settled,
			}
			tc.edit(&in)
			status := decide.Server(in)
			got := conditions(status.Conditions)
			for kind, want := range tc.want {
				if got[kind] != want {
					t.Errorf("%s is %s, want %s; all: %v", kind, got[kind], want, got)
				}
			}
			if len(got) != 8 {
				t.Errorf("%d conditions: %v", len(got), got)
			}
			for _, c := range status.Conditions {
				if c.ObservedGeneration != 2 {
					t.Errorf("%s speaks of generation %d", c.Type, c.ObservedGeneration)
				}
			}
		})
	}
}

func TestWhatAServerThatComesUpStillLacksIsSaidAndIsNoFailure(t *testing.T) {
	in := decide.ServerInput{Server: server(), Now: now, Revision: "r1", Deployment: &appsv1.Deployment{}, Document: "d1", Upgrade: waves.Settled}
	in.Pods = []decide.Pod{pod("a", notReady, func(p *decide.Pod) {
		p.Seen.State.Catalogue, p.Seen.State.Health = nil, registry.HealthState{State: "Unknown"}
		p.Seen.State.Upstream = registry.UpstreamState{Phase: registry.UpstreamConnecting, Reason: registry.FailStart, Message: "Nothing answers at 127.0.0.1:8080."}
	})}
	status := decide.Server(in)
	if got := conditions(status.Conditions); got["Discovered"] != "False/Progressing" || got["Ready"] != "False/Progressing" || got["Healthy"] != "Unknown/Pending" {
		t.Errorf("conditions %v", got)
	}
	const want = "the catalogue of this revision has not been read yet; pod a: Nothing answers at 127.0.0.1:8080."
	if got := meta.FindStatusCondition(status.Conditions, "Discovered").Message; got != want {
		t.Errorf("message %q, want %q", got, want)
	}
}

func TestAToolWhoseNameCannotBeReadIsWithheldAndKeepsNothingFromBeingReady(t *testing.T) {
	const why = "invalid tool definition (/name): a tool must have a name"
	in := decide.ServerInput{Server: server(), Now: now, Revision: "r1", Deployment: &appsv1.Deployment{}, Document: "d1", Tools: registered(), Upgrade: waves.Settled}
	in.Pods = []decide.Pod{pod("a", lists("c1", defined("a1", ""), registry.ObservedTool{Digest: "x1", Error: why}))}
	status := decide.Server(in)
	if got := conditions(status.Conditions); got["Discovered"] != "True/ToolsWithheld" || got["Ready"] != "True/Ready" {
		t.Errorf("conditions %v", got)
	}
	const want = "1 of 2 tools are withheld: a tool whose name can't be read (InvalidSchema); " + why
	if got := meta.FindStatusCondition(status.Conditions, "Discovered").Message; got != want {
		t.Errorf("message %q, want %q", got, want)
	}
	if got := *status.BlockedToolsCount; got != 1 {
		t.Errorf("%d tools are blocked", got)
	}
}

func TestWhatIsOnItsWayHasItsTimeAfterWhatWasInTheWay(t *testing.T) {
	in := decide.ServerInput{Server: server(), Now: now, Revision: "r1", Deployment: &appsv1.Deployment{}, Pods: []decide.Pod{pod("a")}, Document: "d1", DocumentStale: true}
	in.Server.Status.Conditions = is("Enforced=False/ApplyFailed")
	in.Server.Status.Conditions[0].LastTransitionTime = metav1.NewTime(now.Add(-time.Hour))
	for _, step := range []struct {
		after time.Duration
		want  string
	}{{0, "False/Progressing"}, {decide.Grace - time.Second, "False/Progressing"}, {decide.Grace, "False/Lagging"}} {
		in.Now = now.Add(step.after)
		in.Server.Status = decide.Server(in)
		if got := conditions(in.Server.Status.Conditions)["Enforced"]; got != step.want {
			t.Errorf("after %s: %s, want %s", step.after, got, step.want)
		}
	}
}

func TestAManagerThatHasJustStartedChangesNothing(t *testing.T) {
	in := decide.ServerInput{Server: server(), Now: now, Revision: "r1", Deployment: &appsv1.Deployment{}, Pods: []decide.Pod{pod("a")}, Document: "d1", Tools: registered()}
	in.Server.Status = decide.Server(in)
	in.Pods, in.Now = []decide.Pod{pod("a", silent)}, now.Add(time.Hour)
	if diff := cmp.Diff(in.Server.Status, decide.Server(in)); diff != "" {
		t.Error(diff)
	}
	in.Document = "d2"
	if got := conditions(decide.Server(in).Conditions)["Enforced"]; got != "False/Progressing" {
		t.Errorf("a new document is %s though nobody has said that it has it", got)
	}
}

func TestRunningFiguresWriteNothing(t *testing.T) {
	in := decide.ServerInput{Server: server(), Now: now, Revision: "r1", Deployment: &appsv1.Deployment{}, Pods: []decide.Pod{pod("a")}, Document: "d1", Tools: registered()}
	in.Server.Status = decide.Server(in)
	in.Pods[0].Seen.State.Health.ResponseTimeMs = 99
	in.Now = now.Add(time.Minute)
	if diff := cmp.Diff(in.Server.Status, decide.Server(in)); diff != "" {
		t.Error(diff)
	}
}

func TestAServerOutOfServiceHasNoFiguresWhetherItsPodsAreStillThereOrNot(t *testing.T) {
	in := decide.ServerInput{Server: server(), Now: now, Revision: "r1", Deployment: &appsv1.Deployment{}, Pods: []decide.Pod{pod("a")}, Document: "d1", Tools: registered()}
	in.Pods[0].Seen.State.Health.ResponseTimeMs = 99
	in.Server.Spec.State = mcpv1alpha1.StateDisabled
	leaving := decide.Server(in).Health
	in.Pods = nil
	if diff := cmp.Diff(leaving, decide.Server(in).Health); diff != "" {
		t.Errorf("health depends on whether a pod is still on its way out (-there +gone):\n%s", diff)
	}
}

func TestRevisionsAreRecordedOnceAndRemembered(t *testing.T) {
	in := decide.ServerInput{Server: server(), Now: now, Revision: "r1", Pods: []decide.Pod{pod("b", lists("c2")), pod("a", lists("c1"))}}
	status := decide.Server(in)
	if diff := cmp.Diff([]mcpv1alpha1.RevisionStatus{{Name: "r1", FirstCatalogueDigest: "c1"}}, status.Revisions); diff != "" {
		t.Errorf("of two first catalogues the least is taken: %s", diff)
	}
	in.Server.Status = status
	in.Pods = []decide.Pod{pod("a", lists("c9"))}
	if got := decide.Server(in).Revisions[0].FirstCatalogueDigest; got != "c1" {
		t.Errorf("the first catalogue has become %s", got)
	}
	for i := range 30 {
		in.Revision = "n" + string(rune('a'+i))
		in.Server.Status = decide.Server(in)
	}
	names := in.Server.Status.Revisions
	if len(names) != 10 || names[len(names)-1].Name != in.Revision {
		t.Errorf("%d revisions are remembered: %v", len(names), names)
	}
	if names[0].Name != "r1" {
		t.Errorf("r1 still has a pod and was forgotten: %v", names)
	}
}

// TestProtectedSaysWhatItCannotSee: NetworkPolicies add up, and only the server's own is known.
func TestProtectedSaysWhatItCannotSee(t *testing.T) {
	s := server()
	s.Spec.Transport.Type = mcpv1alpha1.TransportStreamableHTTP
	status := decide.Server(decide.ServerInput{Server: s, Now: now, Revision: "r1", Deployment: &appsv1.Deployment{}, Upgrade: waves.Settled})
	told := meta.FindStatusCondition(status.Conditions, mcpv1alpha1.ConditionProtected)
	if told == nil || !strings.Contains(told.Message, "they add up: kubectl get networkpolicy") {
		t.Errorf("Protected is %+v", told)
	}
}
