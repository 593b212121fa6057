// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package waves_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"toolgate.dev/toolgate/controllers/applied"
	"toolgate.dev/toolgate/controllers/waves"
	"toolgate.dev/toolgate/internal/render"
)

func keys(names ...string) []types.NamespacedName {
	var out []types.NamespacedName
	for _, name := range names {
		out = append(out, types.NamespacedName{Namespace: name[:1], Name: name})
	}
	return out
}

func TestNext(t *testing.T) {
	for name, tc := range map[string]struct {
		waiting []types.NamespacedName
		most    int
		want    []types.NamespacedName
	}{
		"nobody":                                    {},
		"the first by name":                         {keys("a3", "a1", "a2"), 1, keys("a1")},
		"as many as may":                            {keys("a3", "a1", "a2"), 2, keys("a1", "a2")},
		"all where there are fewer":                 {keys("a2", "a1"), 9, keys("a1", "a2")},
		"one namespace at a time":                   {keys("b1", "a2", "b2", "a1"), 3, keys("a1", "a2")},
		"the next namespace when the first is done": {keys("b2", "b1", "c1"), 3, keys("b1", "b2")},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, waves.Next(tc.waiting, tc.most)); diff != "" && len(tc.want) > 0 {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// installation is a gate with servers that do as they are told.
type installation struct {
	*waves.Gate
	servers []types.NamespacedName
	woken   []types.NamespacedName
}

func newInstallation(most int, servers ...string) *installation {
	in := &installation{servers: keys(servers...)}
	in.Gate = &waves.Gate{Max: most, Servers: func(context.Context) ([]types.NamespacedName, error) { return in.servers, nil },
		Wake: func(key types.NamespacedName) { in.woken = append(in.woken, key) }}
	return in
}

func (i *installation) report(t *testing.T, state waves.State, names ...string) {
	t.Helper()
	for _, key := range keys(names...) {
		if err := i.Report(t.Context(), key, state); err != nil {
			t.Fatal(err)
		}
	}
}

// wants says whose turn it is.
func (i *installation) wants(t *testing.T, names ...string) {
	t.Helper()
	var got []types.NamespacedName
	for _, key := range i.servers {
		if i.Turn(key) {
			got = append(got, key)
		}
	}
	if diff := cmp.Diff(keys(names...), got); diff != "" {
		t.Fatalf("whose turn it is (-want +got)\n%s", diff)
	}
}

func TestGate(t *testing.T) {
	in := newInstallation(2, "a1", "a2", "a3", "b1", "b2")
	in.report(t, waves.Waiting, "b1", "a3", "a2", "a1")
	in.wants(t) // nobody knows of b2 yet
	in.report(t, waves.Settled, "b2")
	in.wants(t, "a1", "a2")
	if !slices.Equal(in.woken, keys("a1", "a2")) {
		t.Errorf("woken are %v", in.woken)
	}
	in.report(t, waves.Upgrading, "a1")
	in.wants(t, "a2")
	in.report(t, waves.Settled, "a1")
	in.wants(t, "a2") // the whole wave is waited for
	in.report(t, waves.Upgrading, "a2")
	in.report(t, waves.Waiting, "a3")
	in.wants(t)
	in.report(t, waves.Settled, "a2")
	in.wants(t, "a3")
	in.report(t, waves.Upgrading, "a3")
	in.report(t, waves.Waiting, "b1")
	in.wants(t) // as long as a3 is not available
	in.report(t, waves.Settled, "a3")
	in.wants(t, "b1")
	in.servers = append(in.servers, keys("b3")...)
	in.report(t, waves.Settled, "b1", "b3")
	in.wants(t)
}

// TestWhoHasArrivedIsWatchedUntilAllHave, and is told once that it is over: what fails later has nothing to do with the release.
func TestWhoHasArrivedIsWatchedUntilAllHave(t *testing.T) {
	in := newInstallation(1, "a1", "a2", "a3")
	over := func(want bool) {
		t.Helper()
		if got, err := in.Over(t.Context()); got != want || err != nil {
			t.Errorf("over: %v (%v), want %v", got, err, want)
		}
	}
	in.report(t, waves.Arrived, "a1")
	over(false) // nobody knows of the others
	in.report(t, waves.Waiting, "a2")
	in.report(t, waves.Settled, "a3")
	over(false)
	in.wants(t, "a2")
	over(false)
	in.report(t, waves.Upgrading, "a2")
	over(false)
	in.woken = nil
	in.report(t, waves.Upgrading, "a1") // it fails after all
	in.report(t, waves.Arrived, "a2")
	over(false)
	if len(in.woken) > 0 {
		t.Fatalf("woken are %v while one fails", in.woken)
	}
	in.report(t, waves.Arrived, "a1")
	over(true)
	slices.SortFunc(in.woken, func(a, b types.NamespacedName) int { return strings.Compare(a.Name, b.Name) })
	if !slices.Equal(in.woken, keys("a1", "a2")) {
		t.Fatalf("woken are %v", in.woken)
	}
	in.report(t, waves.Settled, "a1")
	in.report(t, waves.Settled, "a2", "a3")
	over(true)
	if len(in.woken) != 2 {
		t.Errorf("woken again: %v", in.woken)
	}
}

func TestAServerThatIsGoneHoldsNobodyUp(t *testing.T) {
	in := newInstallation(1, "a1", "a2", "a3")
	in.report(t, waves.Waiting, "a1", "a2")
	in.servers = keys("a1", "a2")
	if err := in.Forget(t.Context(), keys("a3")[0]); err != nil {
		t.Fatal(err)
	}
	in.wants(t, "a1")
	in.servers = keys("a2")
	if err := in.Forget(t.Context(), keys("a1")[0]); err != nil {
		t.Fatal(err)
	}
	in.wants(t, "a2")
}

func TestAServerThatCannotBeLookedAtHoldsNobodyUp(t *testing.T) {
	in := newInstallation(1, "a1", "a2")
	in.report(t, waves.Waiting, "a2")
	for range 2 {
		if err := in.Seen(t.Context(), keys("a1")[0]); err != nil {
			t.Fatal(err)
		}
	}
	in.wants(t, "a2")
	if got := in.State(keys("a1")[0]); got != waves.Untold {
		t.Errorf("one that was not looked at is %v", got)
	}
	if err := in.Seen(t.Context(), keys("a2")[0]); err != nil || in.State(keys("a2")[0]) != waves.Waiting {
		t.Errorf("one that waits is %v (%v)", in.State(keys("a2")[0]), err)
	}
}

// What the API server says of one server of a release it may say of all, so that nobody else's turn comes. Its own stays: it goes on as
// soon as it is taken.
func TestARefusedUpgradeStopsTheWaves(t *testing.T) {
	in := newInstallation(1, "a1", "a2")
	in.report(t, waves.Waiting, "a1", "a2")
	for range 2 {
		if err := in.Refuse(t.Context(), keys("a1")[0]); err != nil {
			t.Fatal(err)
		}
		in.report(t, waves.Waiting, "a2")
		in.wants(t, "a1")
		if got := in.State(keys("a1")[0]); got != waves.Refused {
			t.Fatalf("the refused one is %v", got)
		}
	}
	in.report(t, waves.Upgrading, "a1")
	in.wants(t)
	in.report(t, waves.Settled, "a1")
	in.wants(t, "a2")
}

func TestARefusedServerWithoutATurnHoldsNobodyUp(t *testing.T) {
	in := newInstallation(1, "a1", "a2")
	if err := in.Refuse(t.Context(), keys("a1")[0]); err != nil {
		t.Fatal(err)
	}
	in.report(t, waves.Waiting, "a2")
	in.wants(t, "a2")
}

// TestNeverMoreThanAWaveIsOnItsWay starts managers anew at any point of an upgrade of five hundred servers.
func TestNeverMoreThanAWaveIsOnItsWay(t *testing.T) {
	const most = 7
	var names []string
	for i := range 500 {
		names = append(names, fmt.Sprintf("%c%03d", 'a'+i%3, i))
	}
	states := map[types.NamespacedName]waves.State{}
	for _, key := range keys(names...) {
		states[key] = waves.Waiting
	}
	rounds := 0
	for slices.Contains(slices.Collect(mapValues(states)), waves.Waiting) {
		rounds++
		in := newInstallation(most, names...)
		for _, key := range in.servers {
			if err := in.Report(t.Context(), key, states[key]); err != nil {
				t.Fatal(err)
			}
		}
		// Some take their turn, one of those that are on their way arrives, and the manager stops.
		for i, key := range in.woken {
			if i%2 == rounds%2 || len(in.woken) == 1 {
				states[key] = waves.Upgrading
			}
		}
		on := 0
		for _, state := range states {
			if state == waves.Upgrading {
				on++
			}
		}
		if on > most {
			t.Fatalf("%d servers are on their way", on)
		}
		for key, state := range states {
			if state == waves.Upgrading {
				states[key] = waves.Settled
				break
			}
		}
	}
}

func mapValues(m map[types.NamespacedName]waves.State) func(func(waves.State) bool) {
	return func(yield func(waves.State) bool) {
		for _, v := range m {
			if !yield(v) {
				return
			}
		}
	}
}

func deployment(image string, replicas int32) *appsv1ac.DeploymentApplyConfiguration {
	return appsv1ac.Deployment("files", "ns").WithLabels(map[string]string{"a": "b"}).
		WithSpec(appsv1ac.DeploymentSpec().WithReplicas(replicas).
			WithTemplate(corev1ac.PodTemplateSpec().WithSpec(corev1ac.PodSpec().WithContainers(corev1ac.Container().WithName("dispatcher").WithImage(image)))))
}

// live is a Deployment to which that much has been applied, with all of its pods available or with none; applying nothing gives none.
func live(t *testing.T, apply *appsv1ac.DeploymentApplyConfiguration, available bool) *appsv1.Deployment {
	t.Helper()
	if apply == nil {
		return nil
	}
	c := fake.NewClientBuilder().WithReturnManagedFields().Build()
	data, err := json.Marshal(apply)
	if err != nil {
		t.Fatal(err)
	}
	var copied appsv1ac.DeploymentApplyConfiguration // the client writes what comes back to it
	if err := json.Unmarshal(data, &copied); err != nil {
		t.Fatal(err)
	}
	if err := c.Apply(t.Context(), &copied, client.FieldOwner(render.FieldOwner)); err != nil {
		t.Fatal(err)
	}
	var d appsv1.Deployment
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: *apply.Namespace, Name: *apply.Name}, &d); err != nil {
		t.Fatal(err)
	}
	d.Generation = 2
	d.Status = appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 1, UpdatedReplicas: 1}
	if available {
		d.Status.AvailableReplicas = 1
	}
	applied.Reduce(&d)
	return &d
}

func TestStep(t *testing.T) {
	over := false
	step := func(there, want *appsv1ac.DeploymentApplyConfiguration, inputs string, available, turn bool) (*appsv1ac.DeploymentApplyConfiguration, waves.State) {
		t.Helper()
		change, err := waves.Compare(live(t, there, available), want, inputs)
		if err != nil {
			t.Fatal(err)
		}
		out, state := change.Step(turn, over)
		if out.Spec.Template == nil {
			// It is to keep the one that it has.
			out.Spec.Template = there.Spec.Template
		}
		return out, state
	}
	first, state := step(nil, deployment("old", 1), "inputs", false, false)
	if state != waves.Settled {
		t.Fatalf("a new server is %s", state)
	}
	upgraded, state := step(first, deployment("new", 1), "inputs", true, true)
	if state != waves.Upgrading || upgraded.Annotations[render.AnnotationUpgrade] == "" {
		t.Fatalf("an upgraded server is %s, annotations %v", state, upgraded.Annotations)
	}
	tampered := *first
	tampered.Spec = deployment("other", 1).Spec
	bare := deployment("old", 1)
	for name, tc := range map[string]struct {
		there, want *appsv1ac.DeploymentApplyConfiguration
		inputs      string
		available   bool
		turn        bool
		wantImage   string
		wantState   waves.State
		wantMark    bool
	}{
		"nothing new":                                     {first, deployment("old", 1), "inputs", true, false, "old", waves.Settled, false},
		"other replicas alone":                            {first, deployment("old", 3), "inputs", true, false, "old", waves.Settled, false},
		"a release, before its turn":                      {first, deployment("new", 1), "inputs", true, false, "old", waves.Waiting, false},
		"a release and other replicas, before its turn":   {first, deployment("new", 3), "inputs", true, false, "old", waves.Waiting, false},
		"a release, in its turn":                          {first, deployment("new", 1), "inputs", true, true, "new", waves.Upgrading, true},
		"a release for one that was not available":        {first, deployment("new", 1), "inputs", false, true, "new", waves.Settled, false},
		"another spec, at once and with the new image":    {first, deployment("new", 1), "other", true, false, "new", waves.Settled, false},
		"a template that somebody has changed":            {&tampered, deployment("new", 1), "inputs", true, false, "new", waves.Settled, false},
		"a template of nobody knows what":                 {bare, deployment("new", 1), "inputs", true, false, "new", waves.Settled, false},
		"an upgrade that is on its way":                   {upgraded, deployment("new", 1), "inputs", false, false, "new", waves.Upgrading, true},
		"an upgrade that has arrived":                     {upgraded, deployment("new", 1), "inputs", true, false, "new", waves.Arrived, true},
		"another spec while an upgrade is on its way":     {upgraded, deployment("newer", 1), "other", false, false, "newer", waves.Settled, false},
		"the next release while one is still on its way":  {upgraded, deployment("newer", 1), "inputs", false, false, "new", waves.Waiting, true},
		"the next release in turn while one has not come": {upgraded, deployment("newer", 1), "inputs", false, true, "newer", waves.Settled, false},
	} {
		t.Run(name, func(t *testing.T) {
			over = false
			out, state := step(tc.there, tc.want, tc.inputs, tc.available, tc.turn)
			if image := *out.Spec.Template.Spec.Containers[0].Image; image != tc.wantImage || state != tc.wantState {
				t.Errorf("image %s, %s; want %s, %s", image, state, tc.wantImage, tc.wantState)
			}
			if marked := out.Annotations[render.AnnotationUpgrade] != ""; marked != tc.wantMark {
				t.Errorf("marked: %v", marked)
			}
			if *out.Spec.Replicas != *tc.want.Spec.Replicas {
				t.Errorf("%d replicas, want %d", *out.Spec.Replicas, *tc.want.Spec.Replicas)
			}
			// What was applied asks for nothing more.
			again, _ := step(out, tc.want, tc.inputs, tc.available, false)
			if diff := cmp.Diff(out, again); diff != "" {
				t.Errorf("it is applied again (-first +second)\n%s", diff)
			}
			over = true
			ended, endState := step(tc.there, tc.want, tc.inputs, tc.available, tc.turn)
			if arrived := state == waves.Arrived; arrived && (endState != waves.Settled || ended.Annotations[render.AnnotationUpgrade] != "") || !arrived && !cmp.Equal(out, ended) {
				t.Errorf("where all is over it is %s, annotations %v", endState, ended.Annotations)
			}
		})
	}
}
