// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package waves_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"

	"toolgate.dev/toolgate/controllers/waves"
)

// A Deployment that somebody has paused gets the template of a release in its turn, and nobody waits for its pods: they come when it is
// let go on, and are awaited then.
func TestAPausedDeploymentHoldsNobodyUp(t *testing.T) {
	there, want := live(t, stampedOnce(t), true), deployment("new", 1)
	there.Spec.Paused = true
	change, err := waves.Compare(there, want, "inputs")
	if err != nil {
		t.Fatal(err)
	}
	if _, state := change.Step(false, false); state != waves.Waiting {
		t.Errorf("before its turn it is %s", state)
	}
	out, state := change.Step(true, false)
	if state != waves.Settled || *out.Spec.Template.Spec.Containers[0].Image != "new" {
		t.Errorf("in its turn it is %s, %v", state, out.Spec.Template)
	}
	d := live(t, out, true)
	d.Status.UpdatedReplicas = 0
	for _, paused := range []bool{true, false} {
		d.Spec.Paused = paused
		if waves.Awaited(d) == paused || waves.Paused(d) != paused || waves.UpgradePaused(d) != paused {
			t.Errorf("paused %v: awaited %v, %v, %v", paused, waves.Awaited(d), waves.Paused(d), waves.UpgradePaused(d))
		}
	}
}

func TestWhatAPausedDeploymentKeepsBack(t *testing.T) {
	for name, tc := range map[string]struct {
		replicas int32
		status   appsv1.DeploymentStatus
		want     bool
	}{
		"no pod yet":                    {1, appsv1.DeploymentStatus{}, true},
		"no pod is asked for":           {0, appsv1.DeploymentStatus{}, false},
		"pods of before":                {2, appsv1.DeploymentStatus{Replicas: 2}, true},
		"some pods of before":           {2, appsv1.DeploymentStatus{Replicas: 3, UpdatedReplicas: 1}, true},
		"all pods are of the newest":    {2, appsv1.DeploymentStatus{Replicas: 2, UpdatedReplicas: 2}, false},
		"more pods are on their way":    {3, appsv1.DeploymentStatus{Replicas: 1, UpdatedReplicas: 1}, false},
		"a pod of the newest is not up": {1, appsv1.DeploymentStatus{Replicas: 1, UpdatedReplicas: 1}, false},
	} {
		t.Run(name, func(t *testing.T) {
			d := &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: &tc.replicas, Paused: true}, Status: tc.status}
			if got := waves.Paused(d); got != tc.want {
				t.Errorf("%v, want %v", got, tc.want)
			}
			d.Spec.Paused = false
			if waves.Paused(d) {
				t.Error("it is not paused")
			}
		})
	}
}

// stampedOnce is what was applied by a release before.
func stampedOnce(t *testing.T) *appsv1ac.DeploymentApplyConfiguration {
	t.Helper()
	change, err := waves.Compare(nil, deployment("old", 1), "inputs")
	if err != nil {
		t.Fatal(err)
	}
	out, _ := change.Step(false, false)
	return out
}
