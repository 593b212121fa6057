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
	"toolgate.dev/toolgate/internal/registry/statekey"
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
	// done are the servers whose Secret was made for their current key, and the pods for which it was made once more, with how
	// often it was worth it by then.
	done map[types.UID]int
}

// NewKeeper gives a keeper that writes through a client. A nil ring makes nothing.
func NewKeeper(c client.Writer, ring *Ring) *Keeper {
	return &Keeper{client: c, ring: ring, done: map[types.UID]int{}}
}

// Ensure makes a server's Secret before pods are made that mount it, and gives the name of the key that they get; "" is none.
// live names the key of the Deployment that is there: its Secret was made before it was, so that nothing is written at rest.
func (k *Keeper) Ensure(ctx context.Context, s *mcpv1alpha1.MCPServer, live string) (name string, err error) {
	if k.ring == nil {
		return "", nil
	}
	key := k.ring.Current(s.UID)
	name = key.Name()
	if live == name || k.made(s.UID) > 0 {
		return name, nil
	}
	return name, k.create(ctx, s, key, s.UID, 1)
}

// Heal makes the Secret once more for each pod that has waited for its volumes for so long that it may be gone (decide.KeyTries).
// That it is there is no error, and is all that anybody who can't read it can find out.
func (k *Keeper) Heal(ctx context.Context, s *mcpv1alpha1.MCPServer, pods []decide.Pod, now time.Time) error {
	if k.ring == nil {
		return nil
	}
	for i := range pods {
		p := &pods[i]
		since, waits := p.WaitsForVolumes()
		key := k.ring.Named(s.UID, p.StateKey())
		if !waits || !key.Set() || key.Name() != p.StateKey() {
			continue
		}
		if tries, _ := decide.KeyTries(since, now); tries > k.made(p.UID) {
			if err := k.create(ctx, s, key, p.UID, tries); err != nil {
				return err
			}
		}
	}
	return nil
}

// create writes the Secret of a key and remembers on whose behalf, and how often it was worth it.
func (k *Keeper) create(ctx context.Context, s *mcpv1alpha1.MCPServer, key statekey.Key, why types.UID, tries int) error {
	secret := workload.StateKey(s, key)
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
	k.done[why] = tries
	return nil
}

// made is how often by now it was worth making a Secret for a server or pod when it was last made; 0 for never.
func (k *Keeper) made(uid types.UID) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.done[uid]
}
