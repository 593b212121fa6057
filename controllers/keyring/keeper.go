// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package keyring

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers/decide"
	"toolgate.dev/toolgate/internal/render"
	"toolgate.dev/toolgate/internal/render/workload"
)

// maxDone bounds what is remembered of what was made.
const maxDone = 16384

// Keeper makes servers' Secrets. It is safe for concurrent use.
type Keeper struct {
	client client.Writer
	ring   *Ring

	mu sync.Mutex
	// done are the servers whose Secret was made for their current key, and the pods for which it was made once more.
	done map[types.UID]bool
}

// NewKeeper gives a keeper that writes through a client. A nil ring makes nothing.
func NewKeeper(c client.Writer, ring *Ring) *Keeper {
	return &Keeper{client: c, ring: ring, done: map[types.UID]bool{}}
}

// Ring derives the keys.
func (k *Keeper) Ring() *Ring { return k.ring }

// Ensure makes a server's Secret before pods are made that mount it, and gives the name of the key that they get; "" is none.
// live names the key of the Deployment that is there: its Secret was made before it was, so that nothing is written at rest.
func (k *Keeper) Ensure(ctx context.Context, s *mcpv1alpha1.MCPServer, live string) (name string, err error) {
	if k.ring == nil {
		return "", nil
	}
	name = k.ring.Current(s.UID).Name()
	if live == name || k.was(s.UID) {
		return name, nil
	}
	return name, k.create(ctx, s, s.UID)
}

// Heal makes the Secret once more for each pod that has waited for its volumes for so long that it may be gone. That it is there
// is no error, and is all that anybody who can't read it can find out.
func (k *Keeper) Heal(ctx context.Context, s *mcpv1alpha1.MCPServer, pods []decide.Pod, now time.Time) error {
	if k.ring == nil {
		return nil
	}
	current := k.ring.Current(s.UID).Name()
	for i := range pods {
		p := &pods[i]
		if p.StateKey() != current || k.was(p.UID) {
			continue
		}
		if since, waits := p.WaitsForVolumes(); !waits || now.Sub(since) < decide.VolumesGrace {
			continue
		}
		if err := k.create(ctx, s, p.UID); err != nil {
			return err
		}
	}
	return nil
}

// create writes the Secret and remembers on whose behalf.
func (k *Keeper) create(ctx context.Context, s *mcpv1alpha1.MCPServer, why types.UID) error {
	secret := workload.StateKey(s, k.ring.Current(s.UID))
	// Waiting until a cache has it would list Secrets.
	err := k.client.Create(ctx, secret, client.DisableReadYourWritesConsistency, client.FieldOwner(render.FieldOwner))
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("making Secret %s: %w", secret.Name, err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.done) >= maxDone {
		// Those that are gone leave nothing else behind; for the others it is made once more, which changes nothing.
		clear(k.done)
	}
	k.done[why] = true
	return nil
}

func (k *Keeper) was(uid types.UID) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.done[uid]
}
