// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kubelet urges the kubelets of a server's pods to look at the registry document at once, which by themselves they do
// once a minute. It writes one annotation of pods and nothing else, and must not import controllers.
package kubelet

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"toolgate.dev/toolgate/controllers/decide"
	"toolgate.dev/toolgate/controllers/library"
	"toolgate.dev/toolgate/internal/render"
)

// touches are when, after it was first seen to lag, a pod is touched. A kubelet that looks before its own copy of the
// ConfigMap has arrived, some ten milliseconds after ours, finds nothing new, so once is often not enough; after the last, its
// own period has to do.
var touches = []time.Duration{0, 150 * time.Millisecond, 400 * time.Millisecond, time.Second, 3 * time.Second, 10 * time.Second}

// Toucher makes kubelets look at the mounted document: they do when something about a pod changes, so an annotation of the
// pod is changed. It is safe for concurrent use.
type Toucher struct {
	Client client.Client
	Clock  clock.PassiveClock

	mu   sync.Mutex
	pods map[types.UID]touched
}

// maxPods bounds how many pods are remembered. One that goes while it lags is never asked for again.
const maxPods = 4096

// touched is how far one pod has been urged towards one document.
type touched struct {
	digest string
	first  time.Time
	count  int
}

// Touch touches those of a server's pods that have said that they enforce another document than the one that is written, and says
// when to come again; 0 for never. A pod that has said nothing may be right already.
func (t *Toucher) Touch(ctx context.Context, pods []decide.Pod, held library.Held) (time.Duration, error) {
	var wait time.Duration
	for i := range pods {
		pod := &pods[i]
		state := pod.Seen.State
		if state == nil || held.Current(state.Registry.Digest) || !pod.DeletionTimestamp.IsZero() {
			t.forget(pod.UID)
			continue
		}
		due, again := t.due(pod.UID, held.Digest)
		if due > 0 {
			if err := t.patch(ctx, pod, fmt.Sprintf("%s.%d", held.Digest, due)); client.IgnoreNotFound(err) != nil {
				return 0, fmt.Errorf("touching pod %s: %w", pod.Name, err)
			}
		}
		if again > 0 && (wait == 0 || again < wait) {
			wait = again
		}
	}
	return wait, nil
}

// due gives the number of the touch that is due now, 0 for none, and in how long the next one is, 0 for never.
func (t *Toucher) due(pod types.UID, digest string) (count int, again time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.Clock.Now()
	p, ok := t.pods[pod]
	if !ok || p.digest != digest {
		p = touched{digest: digest, first: now}
	}
	before := p.count
	for p.count < len(touches) && now.Sub(p.first) >= touches[p.count] {
		p.count++
	}
	if t.pods == nil || len(t.pods) >= maxPods {
		// Those that lag still are touched from the beginning once more.
		t.pods = map[types.UID]touched{}
	}
	t.pods[pod] = p
	if p.count > before {
		count = p.count
	}
	if p.count < len(touches) {
		again = p.first.Add(touches[p.count]).Sub(now)
	}
	return count, again
}

func (t *Toucher) forget(pod types.UID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.pods, pod)
}

// patch changes nothing but the annotation. The value has to differ each time, since only a change wakes the kubelet.
func (t *Toucher) patch(ctx context.Context, pod *decide.Pod, value string) error {
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid":         pod.UID,
		"annotations": map[string]string{render.AnnotationRegistryDigest: value},
	}})
	if err != nil {
		return err
	}
	// Nobody reads the annotation, so nobody needs to wait until the cache has it.
	return t.Client.Patch(ctx, pod.Pod.DeepCopy(), client.RawPatch(types.MergePatchType, body),
		client.FieldOwner(render.FieldOwner), client.DisableReadYourWritesConsistency)
}
