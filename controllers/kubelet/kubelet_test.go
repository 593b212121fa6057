// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"toolgate.dev/toolgate/controllers/decide"
	"toolgate.dev/toolgate/controllers/library"
	"toolgate.dev/toolgate/controllers/polled"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/render"
)

// toucher keeps the annotations that it writes, each as pod=value.
type toucher struct {
	*Toucher
	clock   *clocktesting.FakePassiveClock
	written []string
	err     error
}

func newToucher() *toucher {
	t := &toucher{clock: clocktesting.NewFakePassiveClock(time.Unix(1_000_000, 0))}
	patched := interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
		Patch: func(_ context.Context, _ client.WithWatch, o client.Object, patch client.Patch, _ ...client.PatchOption) error {
			data, err := patch.Data(o)
			if err != nil {
				return err
			}
			var body struct {
				Metadata struct {
					UID         types.UID
					Annotations map[string]string
				}
			}
			if err := json.Unmarshal(data, &body); err != nil {
				return err
			}
			t.written = append(t.written, fmt.Sprintf("%s=%s", body.Metadata.UID, body.Metadata.Annotations[render.AnnotationRegistryDigest]))
			return t.err
		},
	})
	t.Toucher = &Toucher{Client: patched, Clock: t.clock}
	return t
}

func (t *toucher) wants(tt *testing.T, pods []decide.Pod, digest string, wantAgain time.Duration, want ...string) {
	tt.Helper()
	t.written = nil
	again, err := t.Touch(tt.Context(), pods, library.Held{Digest: digest})
	if err != nil {
		tt.Fatal(err)
	}
	if diff := cmp.Diff(want, t.written); diff != "" || again != wantAgain {
		tt.Errorf("again in %v, want %v; written (-want +got)\n%s", again, wantAgain, diff)
	}
}

// enforcing is a pod that says which document it has in force; "" for one that has said nothing.
func enforcing(uid, digest string) decide.Pod {
	p := decide.Pod{Pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pod-" + uid, UID: types.UID(uid)}}}
	if digest != "" {
		p.Seen = polled.Observation{State: &registry.State{Registry: registry.RegistryState{Digest: digest}}}
	}
	return p
}

func TestAPodThatLagsIsTouchedEverMoreSeldom(t *testing.T) {
	to, pods := newToucher(), []decide.Pod{enforcing("a", "old"), enforcing("b", "new"), enforcing("c", "")}
	to.wants(t, pods, "new", touches[1], "a=new.1")
	to.wants(t, pods, "new", touches[1]) // whatever else wakes its server
	last := touches[0]
	for i, at := range touches[1:] {
		to.clock.SetTime(to.clock.Now().Add(at - last))
		last = at
		again := time.Duration(0)
		if i+2 < len(touches) {
			again = touches[i+2] - at
		}
		to.wants(t, pods, "new", again, fmt.Sprintf("a=new.%d", i+2))
	}
	to.clock.SetTime(to.clock.Now().Add(time.Hour))
	to.wants(t, pods, "new", 0) // its own period has to do
	to.wants(t, pods, "newest", touches[1], "a=newest.1", "b=newest.1")
}

func TestWhoIsNotTouched(t *testing.T) {
	to, leaving := newToucher(), enforcing("a", "old")
	leaving.DeletionTimestamp = &metav1.Time{Time: to.clock.Now()}
	to.wants(t, []decide.Pod{leaving}, "new", 0)
	to.wants(t, []decide.Pod{enforcing("a", "old")}, "new", touches[1], "a=new.1")
	to.wants(t, []decide.Pod{enforcing("a", "new")}, "new", 0)
	if len(to.pods) != 0 {
		t.Errorf("%d pods that are as they should be are remembered", len(to.pods))
	}
}

func TestPodsThatAreGoneAreNoFault(t *testing.T) {
	to := newToucher()
	to.err = apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, "pod-a")
	to.wants(t, []decide.Pod{enforcing("a", "old")}, "new", touches[1], "a=new.1")
	to.err = apierrors.NewInternalError(fmt.Errorf("no"))
	if _, err := to.Touch(t.Context(), []decide.Pod{enforcing("b", "old")}, library.Held{Digest: "new"}); err == nil {
		t.Error("a failure is kept back")
	}
}

func TestWhatIsRememberedIsBounded(t *testing.T) {
	to := newToucher()
	for i := range 3 * maxPods {
		to.due(types.UID(fmt.Sprint(i)), "new")
		if len(to.pods) > maxPods {
			t.Fatalf("%d pods are remembered", len(to.pods))
		}
	}
}
