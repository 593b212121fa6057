// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package writes

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"toolgate.dev/toolgate/internal/render"
)

// RemoveForeign takes out of a ConfigMap of ours the files that somebody else has put beside ours: an apply leaves them where they
// are, and who reads it would begin at one that has the name of a root. Dispatchers would enforce it.
func (a *Applier) RemoveForeign(want *corev1ac.ConfigMapApplyConfiguration) func(context.Context, *corev1.ConfigMap) error {
	return func(ctx context.Context, live *corev1.ConfigMap) error { return a.keepOnly(ctx, live, want) }
}

func (a *Applier) keepOnly(ctx context.Context, live *corev1.ConfigMap, want *corev1ac.ConfigMapApplyConfiguration) error {
	patch := map[string]any{}
	for part, files := range map[string]map[string]any{
		"data":       nulls(live.Data, want.Data),
		"binaryData": nulls(live.BinaryData, want.BinaryData),
	} {
		if len(files) > 0 {
			patch[part] = files
		}
	}
	if len(patch) == 0 {
		return nil
	}
	patch["metadata"] = map[string]any{"uid": live.UID}
	body, err := json.Marshal(patch)
	if err != nil {
		return fmt.Errorf("taking foreign files out of ConfigMap %s: %w", live.Name, err)
	}
	err = a.Client.Patch(ctx, live, client.RawPatch(types.MergePatchType, body), client.FieldOwner(render.FieldOwner))
	if err != nil {
		return fmt.Errorf("taking foreign files out of ConfigMap %s: %w", live.Name, err)
	}
	return nil
}

// nulls is a merge patch that takes out of all what is not in ours.
func nulls[V any](all, ours map[string]V) map[string]any {
	out := map[string]any{}
	for file := range all {
		if _, ok := ours[file]; !ok {
			out[file] = nil
		}
	}
	return out
}
