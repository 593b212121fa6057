// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package writes

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers/gather"
)

// DeleteOwned takes back a child of the server that nothing asks for any more. What only has its name stays.
func DeleteOwned(ctx context.Context, a *Applier, s *mcpv1alpha1.MCPServer, live client.Object) error {
	err := a.Client.Get(ctx, client.ObjectKeyFromObject(live), live)
	if err != nil || !gather.ControlledBy[client.Object](s)(live) {
		return client.IgnoreNotFound(err)
	}
	return a.Delete(ctx, live)
}

// Delete takes an object back, whatever was written to it since it was read. Another one that has its name by now stays, and one
// that is gone is no error.
func (a *Applier) Delete(ctx context.Context, o client.Object) error {
	uid := o.GetUID()
	return client.IgnoreNotFound(a.Client.Delete(ctx, o, client.Preconditions{UID: &uid}))
}

// DeleteUnchanged takes an object back as it was read: what was written to it since then may be a reason to keep it. One that is gone
// is no error.
func (a *Applier) DeleteUnchanged(ctx context.Context, o client.Object) error {
	uid, version := o.GetUID(), o.GetResourceVersion()
	return client.IgnoreNotFound(a.Client.Delete(ctx, o, client.Preconditions{UID: &uid, ResourceVersion: &version}))
}
