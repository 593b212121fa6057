// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/render"
)

// References is what the pods' AnnotationReferences is to be: what it is, unless a pod that has this and runs the spec's
// revision was started with other contents than its ConfigMaps and Secrets have now. The new pods see the new contents, so
// they ask for nothing, and those of the rollout before are not asked. Changed names what makes it another, as kind.name.
func References(live, revision string, pods []Pod) (value string, changed []string) {
	for i := range pods {
		p := &pods[i]
		if p.Revision() != revision || p.Annotations[render.AnnotationReferences] != live || !p.DeletionTimestamp.IsZero() {
			continue
		}
		if state := p.Seen.State; state != nil && len(state.References.Changed) > 0 && state.References.Digest != "" {
			return state.References.Digest, state.References.Changed
		}
	}
	return live, nil
}

// modelProblem is what is wrong with the domain model, as a pod of the spec's revision sees it.
func (d *ServerInput) modelProblem() (reason, message string) {
	model := d.Server.Spec.DomainModel
	if model == nil {
		return "", ""
	}
	for i := range d.Pods {
		p := &d.Pods[i]
		if p.Revision() != d.Revision || p.Seen.State == nil {
			continue
		}
		switch found := p.Seen.State.DomainModel; {
		case found.Missing:
			return mcpv1alpha1.ReasonReferenceNotFound, fmt.Sprintf("spec.domainModel names key %s of ConfigMap %s, which does not exist; it is taken up when it does",
				model.ConfigMapKeyRef.Key, model.ConfigMapKeyRef.Name)
		case found.Error != "":
			return mcpv1alpha1.ReasonDomainModelInvalid, fmt.Sprintf("ConfigMap %s, key %s: %s; clients are given the last good one",
				model.ConfigMapKeyRef.Name, model.ConfigMapKeyRef.Key, found.Error)
		}
	}
	return "", ""
}
