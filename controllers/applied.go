// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// maxKnown bounds what is remembered of live objects: seven each of fifteen thousand servers.
const maxKnown = 1 << 17

// asWanted remembers which version of a live object was found to be just what was wanted: to take what our field owner has applied out
// of a Deployment costs more than all else in a reconcile, and most reconciles change nothing. It is safe for concurrent use.
type asWanted struct {
	mu   sync.Mutex
	live map[types.UID]compared
}

// compared is one version of an object, and the digest of what it was compared with.
type compared struct {
	version string
	want    [sha256.Size]byte
}

func (k *asWanted) has(uid types.UID, c compared) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.live[uid] == c
}

func (k *asWanted) add(uid types.UID, c compared) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.live == nil || len(k.live) >= maxKnown {
		// Those in use are compared once more.
		k.live = map[types.UID]compared{}
	}
	k.live[uid] = c
}

// compare says whether what extract takes out of a live object is what is wanted.
func (a *Applier) compare(live client.Object, want runtime.ApplyConfiguration, extract func() (runtime.ApplyConfiguration, error)) (bool, error) {
	data, err := json.Marshal(want)
	if err != nil {
		return false, fmt.Errorf("encoding an apply configuration: %w", err)
	}
	mark := compared{version: live.GetResourceVersion(), want: sha256.Sum256(data)}
	if mark.version != "" && a.known.has(live.GetUID(), mark) {
		return true, nil
	}
	applied, err := extract()
	if err != nil {
		return false, fmt.Errorf("reading what was applied to %s: %w", live.GetName(), err)
	}
	same, err := equalConfigurations(applied, want)
	if same && err == nil {
		a.known.add(live.GetUID(), mark)
	}
	return same, err
}
