// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"toolgate.dev/toolgate/internal/render"
)

// References is what the pods' AnnotationReferences is to be: what it is, unless a pod that has this and runs the spec's
// revision was started with other contents than its ConfigMaps and Secrets have now. The new pods see the new contents, so
// they ask for nothing, and those of the rollout before are not asked.
func References(live, revision string, pods []Pod) string {
	for i := range pods {
		p := &pods[i]
		if p.Revision() != revision || p.Annotations[render.AnnotationReferences] != live || !p.DeletionTimestamp.IsZero() {
			continue
		}
		if state := p.Seen.State; state != nil && len(state.References.Changed) > 0 && state.References.Digest != "" {
			return state.References.Digest
		}
	}
	return live
}
