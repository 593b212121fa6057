// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/render"
)

// withSessions adds to the verdict on a catalogue what clients' sessions list beside it.
func (d *ServerInput) withSessions(v verdict, pods []*Pod, list []metav1.Condition) verdict {
	if v.status != metav1.ConditionTrue {
		return v
	}
	last, known := previous(list, mcpv1alpha1.ConditionDiscovered)
	if known && last.reason == mcpv1alpha1.ReasonToolsWithheld && firstOf(pods, (*Pod).untold) != nil {
		// It may have been told of a pod that this manager has not heard of yet.
		return last
	}
	names, crowded := d.inSessions(pods)
	if len(names) == 0 && !crowded {
		return v
	}
	if len(names) > 0 {
		v.message += fmt.Sprintf("; sessions list otherwise than discovery: %s", atMost(slices.Sorted(maps.Keys(names))))
	}
	if crowded {
		v.message += fmt.Sprintf("; sessions list more definitions than are kept, which are %d, and fewer of one tool", registry.MaxSessionTools)
	}
	if crowded || slices.Contains(slices.Collect(maps.Values(names)), true) {
		v.reason = mcpv1alpha1.ReasonToolsWithheld
	}
	return v
}

// inSessions are the tools of which sessions list what discovery does not, and whether something of that is withheld; crowded says
// that there are more than dispatchers keep.
func (d *ServerInput) inSessions(pods []*Pod) (names map[string]bool, crowded bool) {
	names = map[string]bool{}
	off := render.Pinning(d.Server) == mcpv1alpha1.PinningOff
	for i := range d.Tools {
		t := &d.Tools[i]
		if o := t.Status.Observed; o != nil && o.SessionVariants > 0 && !Gone(t) {
			all := o.Variants == 1 || off && t.Spec.Pin == nil && !t.Spec.Contract.Promises()
			names[t.Spec.ToolName] = !all || !meta.IsStatusConditionTrue(t.Status.Conditions, mcpv1alpha1.ConditionRegistered)
		}
	}
	objects := d.objects()
	for _, p := range pods {
		crowded = crowded || p.sessions().NotKept > 0
		for _, t := range p.sessions().Tools {
			if objects[t.Name] == nil && off {
				names[t.Name+" (which nothing serves before there is an MCPTool of it)"] = true
			}
		}
	}
	return names, crowded
}
