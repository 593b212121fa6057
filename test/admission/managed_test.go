// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/render"
	"toolgate.dev/toolgate/internal/render/index"
	"toolgate.dev/toolgate/internal/render/workload"
)

// Users of the API server that write children of a server, or would like to.
const (
	managerUser     = "system:serviceaccount:toolgate-system:toolgate-manager"
	deployments     = "system:serviceaccount:kube-system:deployment-controller"
	replicaSets     = "system:serviceaccount:kube-system:replicaset-controller"
	allInOne        = "system:kube-controller-manager"
	statefulSets    = "system:serviceaccount:kube-system:statefulset-controller"
	administrator   = "administrator"
	managerInAName  = "system:serviceaccount:elsewhere:toolgate-manager"
	masters         = "system:masters"
	authenticated   = "system:authenticated"
	serviceAccounts = "system:serviceaccounts"
)

// expect says whether a write was refused by a policy, and how.
func expect(t *testing.T, what string, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("%s: want accepted, got: %v", what, err)
	case want != "" && err == nil:
		t.Errorf("%s: want refused with %q, got accepted", what, want)
	case want != "" && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), want)):
		t.Errorf("%s: want forbidden with %q, got: %v", what, want, err)
	}
}

func TestNobodyButTheManagerWritesDocuments(t *testing.T) {
	s := need(t)
	s.install(t)
	namespace := s.namespace(t)
	ctx := context.Background()
	manager := s.user(t, managerUser, authenticated, serviceAccounts)
	admin := s.user(t, administrator, masters)
	// It has the name of the manager and may write ConfigMaps, but not the status of MCPServers.
	pretender := s.as(t, namespace, managerInAName, "system:controller:root-ca-cert-publisher")
	const refused = "its manager alone writes it"

	document := func(name string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string]string{"registry.json": "{}"}}
	}
	for name, want := range map[string]string{
		render.RegistryName("files"): refused, render.RegistryName("files") + "-3": refused, render.IndexName: refused, index.Names()[3]: refused,
		"files": "", "files.registry.old": "", "registry": "", "my-mcp-registry": "", "files.settings": "", "1.registry": "",
	} {
		expect(t, "an administrator creates "+name, admin.Create(ctx, document(name), client.DryRunAll), want)
		expect(t, "somebody of the manager's name creates "+name, pretender.Create(ctx, document(name), client.DryRunAll), want)
		expect(t, "the manager creates "+name, manager.Create(ctx, document(name), client.DryRunAll), "")
	}
	live := document(render.RegistryName("files"))
	if err := manager.Create(ctx, live); err != nil {
		t.Fatal(err)
	}
	for what, tc := range map[string]struct {
		edit func(*corev1.ConfigMap)
		want string
	}{
		"the document":  {func(m *corev1.ConfigMap) { m.Data["registry.json"] = "{} " }, refused},
		"a key more":    {func(m *corev1.ConfigMap) { m.Data["more"] = "" }, refused},
		"no key at all": {func(m *corev1.ConfigMap) { m.Data = nil }, refused},
		"bytes":         {func(m *corev1.ConfigMap) { m.BinaryData = map[string][]byte{"shard-1.json.gz": {1}} }, refused},
		"immutable":     {func(m *corev1.ConfigMap) { m.Immutable = new(true) }, refused},
		"a label":       {func(m *corev1.ConfigMap) { m.Labels = map[string]string{"a": "b"} }, ""},
		"an annotation": {func(m *corev1.ConfigMap) { m.Annotations = map[string]string{"a": "b"} }, ""},
		"an owner, as orphaning": {func(m *corev1.ConfigMap) {
			m.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "a", UID: "b"}}
		}, ""},
		"nothing":                   {func(*corev1.ConfigMap) {}, ""},
		"somebody else's finalizer": {func(m *corev1.ConfigMap) { m.Finalizers = []string{"example.com/a"} }, ""},
	} {
		changed := live.DeepCopy()
		tc.edit(changed)
		expect(t, "an administrator changes "+what, admin.Update(ctx, changed.DeepCopy(), client.DryRunAll), tc.want)
		expect(t, "somebody of the manager's name changes "+what, pretender.Update(ctx, changed.DeepCopy(), client.DryRunAll), tc.want)
		expect(t, "the manager changes "+what, manager.Patch(ctx, changed, client.MergeFrom(live), client.DryRunAll), "")
	}
	expect(t, "an administrator deletes it", admin.Delete(ctx, live), "")
}

// deployment is what the manager writes for a server.
func deployment(t *testing.T, namespace string) *appsv1.Deployment {
	t.Helper()
	server := &v1alpha1.MCPServer{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "files", UID: "1"},
		Spec:       v1alpha1.MCPServerSpec{Container: &v1alpha1.Container{Image: "a", Command: []string{"b"}}},
	}
	rendered, err := workload.Deployment(server, workload.Platform{Image: "toolgate.dev/toolgate:test"}, workload.Live{StateKey: "0123456789"})
	if err != nil {
		t.Fatal(err)
	}
	out := &appsv1.Deployment{}
	if err := convert(rendered, out); err != nil {
		t.Fatal(err)
	}
	out.Namespace = namespace
	return out
}

const (
	workloadsRefused = "Toolgate's manager alone says what runs in them"
	podRefused       = "choose another label"
	labelRefused     = "none can be put on one"
	guardRefused     = "NetworkPolicies go by them"
	containerRefused = "can't be changed"
)

func TestNobodyButTheManagerSaysWhatRuns(t *testing.T) {
	s := need(t)
	s.install(t)
	namespace := s.namespace(t)
	ctx := context.Background()
	users := map[string]client.Client{}
	for _, name := range []string{managerUser, deployments, replicaSets, statefulSets, allInOne, administrator} {
		groups := []string{masters}
		if name == managerUser {
			groups = []string{authenticated, serviceAccounts}
		}
		users[name] = s.user(t, name, groups...)
	}
	creates := func(what string, object client.Object, by ...string) {
		t.Helper()
		for _, name := range slices.Sorted(maps.Keys(users)) {
			if name == managerUser && !slices.Contains(by, name) {
				continue // its role gives it no right to
			}
			want := workloadsRefused
			if _, ok := object.(*corev1.Pod); ok {
				want = podRefused
			}
			if slices.Contains(by, name) {
				want = ""
			}
			expect(t, fmt.Sprintf("%s creates %s", name, what), users[name].Create(ctx, object.DeepCopyObject().(client.Object), client.DryRunAll), want)
		}
	}
	d := deployment(t, namespace)
	creates("the Deployment", d, managerUser)
	if err := users[managerUser].Create(ctx, d); err != nil {
		t.Fatal(err)
	}
	testDeployment(t, users, d)

	rs := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "files-1", Labels: d.Spec.Template.Labels},
		Spec:       appsv1.ReplicaSetSpec{Selector: d.Spec.Selector, Template: d.Spec.Template},
	}
	creates("a ReplicaSet without an owner", rs)
	rs.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(d, appsv1.SchemeGroupVersion.WithKind("Deployment"))}
	creates("the ReplicaSet", rs, deployments, allInOne)
	if err := users[deployments].Create(ctx, rs); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{deployments, administrator} {
		expect(t, name+" scales the ReplicaSet", users[name].Patch(ctx, rs.DeepCopy(), merge(`{"spec":{"replicas":2}}`), client.DryRunAll), "")
		expect(t, name+" annotates the ReplicaSet", users[name].Patch(ctx, rs.DeepCopy(), merge(`{"metadata":{"annotations":{"a":"b"}}}`), client.DryRunAll), "")
	}
	expect(t, "an administrator changes what the ReplicaSet makes", users[administrator].Patch(ctx, rs.DeepCopy(), merge(`{"spec":{"template":{"spec":{"hostNetwork":true}}}}`), client.DryRunAll), workloadsRefused)

	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "files-1-1", Labels: rs.Spec.Template.Labels}, Spec: rs.Spec.Template.Spec}
	creates("a pod without an owner", pod)
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(rs, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))}
	creates("the pod", pod, replicaSets, allInOne)
	injected := pod.DeepCopy()
	injected.Spec.Containers = append(injected.Spec.Containers, corev1.Container{Name: "sidecar", Image: "a"})
	creates("the pod, into which a webhook has injected a container", injected, replicaSets, allInOne)
	for _, key := range []string{render.LabelManagedBy, render.LabelName, render.LabelComponent} {
		relabelled := pod.DeepCopy()
		relabelled.Labels[key] = "other"
		expect(t, "the pod, of which a webhook has changed "+key, users[replicaSets].Create(ctx, relabelled, client.DryRunAll), "its NetworkPolicy selects it")
	}
	if err := users[replicaSets].Create(ctx, pod); err != nil {
		t.Fatal(err)
	}
	testPod(t, users, pod)
}

func merge(patch string) client.Patch { return client.RawPatch(types.MergePatchType, []byte(patch)) }

func strategic(patch string) client.Patch {
	return client.RawPatch(types.StrategicMergePatchType, []byte(patch))
}

func testDeployment(t *testing.T, users map[string]client.Client, d *appsv1.Deployment) {
	t.Helper()
	for what, tc := range map[string]struct{ patch, want string }{
		"image of the dispatcher":   {`{"spec":{"template":{"spec":{"initContainers":[{"name":"dispatcher","image":"evil"}]}}}}`, workloadsRefused},
		"image of the server":       {`{"spec":{"template":{"spec":{"containers":[{"name":"server","image":"evil"}]}}}}`, workloadsRefused},
		"containers, one more":      {`{"spec":{"template":{"spec":{"containers":[{"name":"more","image":"evil"}]}}}}`, workloadsRefused},
		"volumes":                   {`{"spec":{"template":{"spec":{"volumes":[{"name":"toolgate-registry","projected":null,"emptyDir":{}}]}}}}`, workloadsRefused},
		"key of the dispatcher":     {`{"spec":{"template":{"spec":{"volumes":[{"name":"toolgate-state-key","$patch":"delete"}],"initContainers":[{"name":"dispatcher","volumeMounts":[{"mountPath":"/etc/toolgate/state-key","$patch":"delete"}]}]}}}}`, workloadsRefused},
		"host network":              {`{"spec":{"template":{"spec":{"hostNetwork":true}}}}`, workloadsRefused},
		"processes":                 {`{"spec":{"template":{"spec":{"shareProcessNamespace":true}}}}`, workloadsRefused},
		"revision":                  {`{"spec":{"template":{"metadata":{"labels":{"mcp.toolgate.dev/revision":"other"}}}}}`, workloadsRefused},
		"name in the pods' labels":  {`{"spec":{"template":{"metadata":{"labels":{"app.kubernetes.io/name":"other"}}}}}`, workloadsRefused},
		"rollout, by restarting it": {`{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":"now"}}}}}`, ""},
		"labels of the pods":        {`{"spec":{"template":{"metadata":{"labels":{"team":"a"}}}}}`, ""},
		"replicas":                  {`{"spec":{"replicas":3}}`, ""},
		"pausing":                   {`{"spec":{"paused":true}}`, ""},
		"labels and annotations":    {`{"metadata":{"labels":{"a":"b"},"annotations":{"deployment.kubernetes.io/revision":"1"}}}`, ""},
		"owner, as orphaning does":  {`{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"a","uid":"b"}]}}`, ""},
	} {
		for _, name := range []string{administrator, deployments} {
			expect(t, fmt.Sprintf("%s changes the Deployment's %s", name, what), users[name].Patch(context.Background(), d.DeepCopy(), strategic(tc.patch), client.DryRunAll), tc.want)
		}
		expect(t, "the manager changes the Deployment's "+what, users[managerUser].Patch(context.Background(), d.DeepCopy(), strategic(tc.patch), client.DryRunAll), "")
	}
	foreign := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: "web"}, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "a"}}}},
	}}
	if err := users[administrator].Create(context.Background(), foreign); err != nil {
		t.Errorf("a Deployment that is none of ours: %v", err)
	}
	expect(t, "giving a Deployment's pods our label", users[administrator].Patch(context.Background(), foreign, merge(`{"spec":{"template":{"metadata":{"labels":{"mcp.toolgate.dev/server":"files"}}}}}`)), workloadsRefused)
}

func testPod(t *testing.T, users map[string]client.Client, pod *corev1.Pod) {
	t.Helper()
	ctx := context.Background()
	admin := users[administrator]
	for what, tc := range map[string]struct{ patch, want string }{
		"image of the dispatcher": {`{"spec":{"initContainers":[{"name":"dispatcher","image":"evil"}]}}`, containerRefused},
		"image of the server":     {`{"spec":{"containers":[{"name":"server","image":"evil"}]}}`, containerRefused},
		"server":                  {`{"metadata":{"labels":{"mcp.toolgate.dev/server":"other"}}}`, labelRefused},
		"revision":                {`{"metadata":{"labels":{"mcp.toolgate.dev/revision":"other"}}}`, "mcp.toolgate.dev/"},
		"revision, taking it off": {`{"metadata":{"labels":{"mcp.toolgate.dev/revision":null}}}`, guardRefused},
		"name":                    {`{"metadata":{"labels":{"app.kubernetes.io/name":"other"}}}`, guardRefused},
		"component":               {`{"metadata":{"labels":{"app.kubernetes.io/component":null}}}`, guardRefused},
		"labels, all of them":     {`{"metadata":{"labels":{"$patch":"replace"}}}`, guardRefused},
		"label, taking it off":    {`{"metadata":{"labels":{"mcp.toolgate.dev/server":null}}}`, ""},
		"labels of others":        {`{"metadata":{"labels":{"team":"a"}}}`, ""},
		"annotations":             {`{"metadata":{"annotations":{"mcp.toolgate.dev/registry-digest":"a"}}}`, ""},
		"tolerations, adding one": {`{"spec":{"tolerations":[{"key":"a","operator":"Exists","effect":"NoExecute"}]}}`, ""},
		"finalizers":              {`{"metadata":{"finalizers":["example.com/a"]}}`, ""},
	} {
		expect(t, "an administrator changes the pod's "+what, admin.Patch(ctx, pod.DeepCopy(), strategic(tc.patch), client.DryRunAll), tc.want)
	}
	expect(t, "the manager touches the pod", users[managerUser].Patch(ctx, pod.DeepCopy(), strategic(`{"metadata":{"annotations":{"mcp.toolgate.dev/registry-digest":"a"}}}`)), "")

	debugged := pod.DeepCopy()
	if err := admin.Get(ctx, client.ObjectKeyFromObject(pod), debugged); err != nil {
		t.Fatal(err)
	}
	debugged.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "debug", Image: "a", TerminationMessagePolicy: "File", ImagePullPolicy: "Always"}}}
	expect(t, "kubectl debug", admin.SubResource("ephemeralcontainers").Update(ctx, debugged), containerRefused)

	running := pod.DeepCopy()
	if err := admin.Get(ctx, client.ObjectKeyFromObject(pod), running); err != nil {
		t.Fatal(err)
	}
	running.Status.Phase = corev1.PodRunning
	expect(t, "the kubelet writes the pod's status", admin.Status().Update(ctx, running), "")
	expect(t, "the scheduler binds the pod", admin.SubResource("binding").Create(ctx, running, &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: "a"}}), "")

	expect(t, "taking the pod out of service", admin.Patch(ctx, pod.DeepCopy(), strategic(`{"metadata":{"labels":{"mcp.toolgate.dev/server":null}}}`)), "")
	for key := range pod.Labels {
		if key != render.LabelServer {
			expect(t, "taking "+key+" off the pod out of service", admin.Patch(ctx, pod.DeepCopy(), strategic(`{"metadata":{"labels":{"`+key+`":null}}}`), client.DryRunAll), guardRefused)
		}
	}
	guard := labels.SelectorFromSet(render.GuardSelector("files"))
	if err := admin.Get(ctx, client.ObjectKeyFromObject(pod), pod); err != nil || !guard.Matches(labels.Set(pod.Labels)) {
		t.Errorf("the NetworkPolicy has let go of the pod out of service: labels %v, error %v", pod.Labels, err)
	}
	if err := admin.Get(ctx, client.ObjectKeyFromObject(pod), debugged); err != nil {
		t.Fatal(err)
	}
	debugged.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "debug", Image: "a", TerminationMessagePolicy: "File", ImagePullPolicy: "Always"}}}
	expect(t, "kubectl debug of the pod out of service", admin.SubResource("ephemeralcontainers").Update(ctx, debugged), "")

	plain := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: "plain"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "a"}}}}
	if err := admin.Create(ctx, plain); err != nil {
		t.Fatalf("a pod that is none of ours: %v", err)
	}
	expect(t, "putting our label on another pod", admin.Patch(ctx, plain.DeepCopy(), merge(`{"metadata":{"labels":{"mcp.toolgate.dev/server":"files"}}}`), client.DryRunAll), labelRefused)
	expect(t, "changing another pod's image", admin.Patch(ctx, plain, strategic(`{"spec":{"containers":[{"name":"a","image":"b"}]}}`)), "")
	expect(t, "deleting the pod", admin.Delete(ctx, pod), "")
}
