// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers/applied"
	"toolgate.dev/toolgate/controllers/decide"
	"toolgate.dev/toolgate/controllers/library"
	"toolgate.dev/toolgate/controllers/polled"
	"toolgate.dev/toolgate/controllers/prober"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/registry/shard"
	"toolgate.dev/toolgate/internal/render"
	"toolgate.dev/toolgate/internal/render/document"
)

// Gatherer reads what decisions are made of. Lists come sorted by name. What is read is the cache's own: nobody may write to it.
//
// A list does not wait for what the manager itself is writing, as a read of one object does: it would wait for all writes of its
// kind, of any namespace and by anybody, and where there are thousands, everybody would wait for them most of the time. What
// a list lacks brings an event, and comes in the next pass. Only discovery can't do with less (OwnTools).
type Gatherer struct {
	Client client.Reader
	// Live reads past the cache, which holds nothing without our labels.
	Live   client.Reader
	Prober *prober.Prober

	// absent are servers, by their UIDs, of which the API server has said that they have no Deployment. It is asked once.
	absent sync.Map
}

// Servers are those of a namespace.
func (g *Gatherer) Servers(ctx context.Context, namespace string) ([]mcpv1alpha1.MCPServer, error) {
	var list mcpv1alpha1.MCPServerList
	if err := g.Client.List(ctx, &list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency); err != nil {
		return nil, fmt.Errorf("listing MCPServers: %w", err)
	}
	slices.SortFunc(list.Items, func(a, b mcpv1alpha1.MCPServer) int { return cmp.Compare(a.Name, b.Name) })
	return list.Items, nil
}

// ServerKeys are all servers, of every namespace, that are not about to go.
func (g *Gatherer) ServerKeys(ctx context.Context) ([]types.NamespacedName, error) {
	var list mcpv1alpha1.MCPServerList
	if err := g.Client.List(ctx, &list, client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency); err != nil {
		return nil, fmt.Errorf("listing MCPServers: %w", err)
	}
	out := make([]types.NamespacedName, 0, len(list.Items))
	for i := range list.Items {
		if s := &list.Items[i]; s.DeletionTimestamp.IsZero() {
			out = append(out, client.ObjectKeyFromObject(s))
		}
	}
	return out, nil
}

// Tools are the MCPTools of a server.
func (g *Gatherer) Tools(ctx context.Context, key types.NamespacedName) ([]mcpv1alpha1.MCPTool, error) {
	return g.toolsOf(ctx, key, client.DisableReadYourWritesConsistency)
}

// OwnTools are the MCPTools of a server with all that the manager has made of them. Discovery would else take the name of a tool
// that it has just made for one that somebody else holds.
func (g *Gatherer) OwnTools(ctx context.Context, key types.NamespacedName) ([]mcpv1alpha1.MCPTool, error) {
	return g.toolsOf(ctx, key)
}

func (g *Gatherer) toolsOf(ctx context.Context, key types.NamespacedName, opts ...client.ListOption) ([]mcpv1alpha1.MCPTool, error) {
	var list mcpv1alpha1.MCPToolList
	opts = append(opts, client.InNamespace(key.Namespace), client.MatchingFields{indexServerRef: key.Name}, client.UnsafeDisableDeepCopy)
	if err := g.Client.List(ctx, &list, opts...); err != nil {
		return nil, fmt.Errorf("listing MCPTools: %w", err)
	}
	slices.SortFunc(list.Items, func(a, b mcpv1alpha1.MCPTool) int { return cmp.Compare(a.Name, b.Name) })
	return list.Items, nil
}

// RuleSets are those of a namespace.
func (g *Gatherer) RuleSets(ctx context.Context, namespace string) ([]mcpv1alpha1.RuleSet, error) {
	var list mcpv1alpha1.RuleSetList
	if err := g.Client.List(ctx, &list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency); err != nil {
		return nil, fmt.Errorf("listing RuleSets: %w", err)
	}
	slices.SortFunc(list.Items, func(a, b mcpv1alpha1.RuleSet) int { return cmp.Compare(a.Name, b.Name) })
	return list.Items, nil
}

// Deployment is the server's own, reduced; nil where there is none, or where one of its name is not ours. One that has lost its
// labels is there all the same: taken for absent, it would be made anew for as many pods as the spec begins with.
func (g *Gatherer) Deployment(ctx context.Context, s *mcpv1alpha1.MCPServer) (*appsv1.Deployment, error) {
	var d appsv1.Deployment
	key := client.ObjectKeyFromObject(s)
	err := g.Client.Get(ctx, key, &d, client.UnsafeDisableDeepCopy)
	if err == nil {
		g.absent.Delete(key)
	}
	if known, _ := g.absent.Load(key); apierrors.IsNotFound(err) && known != s.UID {
		if err = g.Live.Get(ctx, key, &d); apierrors.IsNotFound(err) {
			g.absent.Store(key, s.UID)
		}
	}
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading Deployment %s: %w", s.Name, err)
	case !ControlledBy[*appsv1.Deployment](s)(&d):
		return nil, nil
	}
	applied.Reduce(&d)
	return &d, nil
}

// Forget drops what is remembered of a server that is gone.
func (g *Gatherer) Forget(key types.NamespacedName) { g.absent.Delete(key) }

// Running gives the server's Deployment and the pods whose chain of owners ends at this very server, with what their
// dispatchers say. A label proves nothing: anybody who may create pods may write it.
func (g *Gatherer) Running(ctx context.Context, s *mcpv1alpha1.MCPServer) (*appsv1.Deployment, []decide.Pod, error) {
	d, err := g.Deployment(ctx, s)
	if d == nil || err != nil {
		return nil, nil, err
	}
	pods, err := g.pods(ctx, s, d)
	return d, pods, err
}

func (g *Gatherer) pods(ctx context.Context, s *mcpv1alpha1.MCPServer, d *appsv1.Deployment) ([]decide.Pod, error) {
	own, err := g.own(ctx, s, d)
	if err != nil {
		return nil, err
	}
	seen := map[string]polled.Observation{}
	for _, o := range g.Prober.Observe(client.ObjectKeyFromObject(s)) {
		seen[o.Target.UID] = o
	}
	var out []decide.Pod
	for _, pod := range own {
		if pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
			out = append(out, decide.Pod{Pod: pod, Seen: seen[string(pod.UID)]})
		}
	}
	return out, nil
}

// Failed are the pods of a server that have failed for good: the kubelet has evicted them, for example. d is its Deployment, or nil. A pod
// that is deleted has failed too once its containers have ended, and nobody takes that for a fault.
func (g *Gatherer) Failed(ctx context.Context, s *mcpv1alpha1.MCPServer, d *appsv1.Deployment) ([]*corev1.Pod, error) {
	if d == nil {
		return nil, nil
	}
	own, err := g.own(ctx, s, d)
	return slices.DeleteFunc(own, func(p *corev1.Pod) bool { return p.Status.Phase != corev1.PodFailed || !p.DeletionTimestamp.IsZero() }), err
}

// own are the pods whose chain of owners ends at the server's Deployment.
func (g *Gatherer) own(ctx context.Context, s *mcpv1alpha1.MCPServer, d *appsv1.Deployment) ([]*corev1.Pod, error) {
	ofServer := client.MatchingFields{indexServerLabel: s.Name}
	sets := &metav1.PartialObjectMetadataList{}
	sets.SetGroupVersionKind(replicaSet().GroupVersionKind())
	if err := g.Client.List(ctx, sets, client.InNamespace(s.Namespace), ofServer, client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency); err != nil {
		return nil, fmt.Errorf("listing ReplicaSets: %w", err)
	}
	owners := map[types.UID]bool{}
	for i := range sets.Items {
		if ref := metav1.GetControllerOf(&sets.Items[i]); ref != nil && ref.UID == d.UID {
			owners[sets.Items[i].UID] = true
		}
	}
	var list corev1.PodList
	if err := g.Client.List(ctx, &list, client.InNamespace(s.Namespace), ofServer, client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency); err != nil {
		return nil, fmt.Errorf("listing pods: %w", err)
	}
	var out []*corev1.Pod
	for i := range list.Items {
		pod := &list.Items[i]
		if ref := metav1.GetControllerOf(pod); ref != nil && owners[ref.UID] {
			out = append(out, pod)
		}
	}
	slices.SortFunc(out, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// HasDocument says whether there is a registry document of the server.
func (g *Gatherer) HasDocument(ctx context.Context, s *mcpv1alpha1.MCPServer) (bool, error) {
	cm, err := g.configMap(ctx, s, render.RegistryName(s.Name))
	return cm != nil && (cm.Data[registry.FileName] != "" || cm.Data[shard.RootFile] != ""), err
}

// Shard is the content of one shard of the server's document.
func (g *Gatherer) Shard(ctx context.Context, s *mcpv1alpha1.MCPServer, file string) ([]byte, error) {
	cm, err := g.configMap(ctx, s, render.ShardName(s.Name, file))
	if err != nil {
		return nil, err
	}
	if cm == nil || cm.BinaryData[file] == nil {
		return nil, fmt.Errorf("%s: %w", file, fs.ErrNotExist)
	}
	return cm.BinaryData[file], nil
}

// configMap is one of the server's own; nil where there is none, or where one of its name is not ours.
func (g *Gatherer) configMap(ctx context.Context, s *mcpv1alpha1.MCPServer, name string) (*corev1.ConfigMap, error) {
	var cm corev1.ConfigMap
	err := g.Client.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: name}, &cm, client.UnsafeDisableDeepCopy)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading ConfigMap %s: %w", name, err)
	case !ControlledBy[*corev1.ConfigMap](s)(&cm):
		return nil, nil
	}
	return &cm, nil
}

// Written is what the server's registry document holds as it stands in the cluster.
func (g *Gatherer) Written(ctx context.Context, s *mcpv1alpha1.MCPServer, known *library.Library) (library.Held, error) {
	cm, err := g.configMap(ctx, s, render.RegistryName(s.Name))
	if cm == nil || err != nil {
		return library.Held{}, err
	}
	load, failed := g.shards(ctx, s)
	held := known.ReadData(client.ObjectKeyFromObject(s), cm.Data, load)
	return held, *failed
}

// InForce is the server's registry document as it stands in the cluster, decoded anew: it is for where that is not the one that is
// asked for. One that can't be read is none.
func (g *Gatherer) InForce(ctx context.Context, s *mcpv1alpha1.MCPServer) (decide.InForce, error) {
	cm, err := g.configMap(ctx, s, render.RegistryName(s.Name))
	if cm == nil || err != nil {
		return decide.InForce{}, err
	}
	load, failed := g.shards(ctx, s)
	first, err := shard.Root(document.Files(cm.Data).Load)
	if err != nil {
		return decide.InForce{}, nil //nolint:nilerr // no document
	}
	doc, err := shard.Decode(first, load)
	if err != nil {
		return decide.InForce{}, *failed
	}
	return decide.NewInForce(doc), nil
}

// shards loads shards of a server's document, and keeps why one could not be read beside not being there.
func (g *Gatherer) shards(ctx context.Context, s *mcpv1alpha1.MCPServer) (load shard.Load, failed *error) {
	failed = new(error)
	return func(file string) ([]byte, error) {
		data, err := g.Shard(ctx, s, file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			*failed = err
		}
		return data, err
	}, failed
}

// DocumentInput is what the server's document is rendered from.
func (g *Gatherer) DocumentInput(ctx context.Context, s *mcpv1alpha1.MCPServer, d *appsv1.Deployment, pods []decide.Pod) (document.Input, error) {
	in := document.Input{Server: s, Revisions: RevisionsOf(pods), Replicas: decide.Replicas(d)}
	var err error
	if in.Tools, err = g.Tools(ctx, client.ObjectKeyFromObject(s)); err != nil {
		return in, err
	}
	in.RuleSets, err = g.RuleSets(ctx, s.Namespace)
	return in, err
}

// RevisionsOf are what the pods run.
func RevisionsOf(pods []decide.Pod) []string {
	var out []string
	for i := range pods {
		if name := pods[i].Revision(); name != "" {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// ControlledBy says that an object belongs to the server.
func ControlledBy[O client.Object](s *mcpv1alpha1.MCPServer) func(O) bool {
	return func(o O) bool {
		ref := metav1.GetControllerOf(o)
		return ref != nil && render.OwnedBy(ref.UID, s)
	}
}
