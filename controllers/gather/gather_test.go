// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package gather_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers/gather"
	"toolgate.dev/toolgate/controllers/prober"
)

// TestListsDoNotWait reads all that there is to read and wants no list but that of discovery to wait for what the manager is
// writing: such a wait is for every write of a kind, and where an event is mapped, all events behind it wait, too.
func TestListsDoNotWait(t *testing.T) {
	server := &mcpv1alpha1.MCPServer{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "files", UID: "u1"}}
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "files", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: mcpv1alpha1.GroupVersion.String(), Kind: "MCPServer", Name: "files", UID: "u1", Controller: new(true)},
	}}}
	var waits []string
	g := &gather.Gatherer{
		Client: reader(t, &waits, server, deployment),
		Prober: prober.New(prober.Options{Client: prober.NewClient(), Clock: clock.RealClock{}}),
	}
	t.Cleanup(g.Prober.Stop)
	ctx, key := t.Context(), client.ObjectKeyFromObject(server)
	for name, read := range map[string]func() error{
		"servers":  func() error { _, err := g.Servers(ctx, "ns"); return err },
		"keys":     func() error { _, err := g.ServerKeys(ctx); return err },
		"sets":     func() error { _, err := g.RuleSets(ctx, "ns"); return err },
		"tools":    func() error { _, err := g.Tools(ctx, key); return err },
		"running":  func() error { _, _, err := g.Running(ctx, server); return err },
		"failed":   func() error { _, err := g.Failed(ctx, server, deployment); return err },
		"document": func() error { _, err := g.DocumentInput(ctx, server, nil, nil); return err },
	} {
		if err := read(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(waits) > 0 {
		t.Errorf("lists of %v wait", waits)
	}
	if _, err := g.OwnTools(ctx, key); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"*v1alpha1.MCPToolList"}, waits); diff != "" {
		t.Errorf("discovery must see what it has made (-want +got):\n%s", diff)
	}
}

// reader notes the lists that wait.
func reader(t *testing.T, waits *[]string, objects ...client.Object) client.Reader {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, mcpv1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if !slices.Contains(opts, client.ListOption(client.DisableReadYourWritesConsistency)) {
				*waits = append(*waits, fmt.Sprintf("%T", list))
			}
			return nil
		},
	}).Build()
}
