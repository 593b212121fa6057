// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/loosening"
)

// childFields are the fields of a spec that reach a child, with a value and another one. One with a single value has no other
// than that and its default.
var childFields = map[string][]string{
	"state":    {`"Disabled"`},
	"replicas": {`3`, `0`},
	"scaling":  {`"External"`},

	"rollout.type":                    {`"Recreate"`},
	"rollout.maxUnavailable":          {`1`, `"50%"`},
	"rollout.maxSurge":                {`2`, `"100%"`},
	"rollout.progressDeadlineSeconds": {`30`, `60`},
	"restartOn":                       {`"Never"`},

	"container.image":           {`"example.com/other:1"`, `"example.com/other:2"`},
	"container.imagePullPolicy": {`"Always"`, `"Never"`},
	"container.command":         {`["a"]`, `["a","b"]`},
	"container.args":            {`["a"]`, `["b"]`},
	"container.workingDir":      {`"/a"`, `"/b"`},
	"container.env":             {`[{"name":"A","value":"1"}]`, `[{"name":"A","configMapKeyRef":{"name":"a","key":"b"}}]`},
	"container.envFrom":         {`[{"secretRef":"a"}]`, `[{"configMapRef":"a","prefix":"X_"}]`},
	"container.resources":       {`{"limits":{"memory":"64Mi"}}`, `{"limits":null,"requests":{"cpu":"10m"}}`},
	"container.volumeMounts":    {`[{"name":"data","mountPath":"/data"}]`, `[{"name":"data","mountPath":"/data","access":"ReadOnly"}]`},
	"container.livenessProbe":   {`{"tcpPort":80}`, `{"tcpPort":null,"exec":["true"],"periodSeconds":5}`},
	"container.readinessProbe":  {`{"tcpPort":80}`, `{"tcpPort":null,"httpGet":{"port":80,"path":"/a"}}`},
	"container.startupProbe":    {`{"tcpPort":80}`, `{"tcpPort":81,"failureThreshold":9}`},

	"container.securityContext.runAsUser":      {`2000`, `0`},
	"container.securityContext.runAsGroup":     {`2000`, `2001`},
	"container.securityContext.rootFilesystem": {`"ReadOnly"`},

	"pod.labels":                              {`{"a":"1","b":"2"}`, `{"a":"3","b":null}`},
	"pod.annotations":                         {`{"a":"1","b":"2"}`, `{"a":"3","b":null}`},
	"pod.serviceAccountName":                  {`"theirs"`, `"others"`},
	"pod.imagePullSecrets":                    {`["a","b"]`, `["b"]`},
	"pod.volumes":                             {`[{"name":"data","emptyDir":{}},{"name":"x","secret":"a"}]`, `[{"name":"data","emptyDir":{}},{"name":"x","configMap":"a"}]`},
	"pod.nodeSelector":                        {`{"a":"1"}`, `{"a":"2"}`},
	"pod.tolerations":                         {`[{"key":"a","operator":"Exists"}]`, `[{"key":"b","operator":"Exists"}]`},
	"pod.affinity":                            {`{"nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":1,"preference":{"matchExpressions":[{"key":"a","operator":"Exists"}]}}]}}`, `{"nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":2,"preference":{"matchExpressions":[{"key":"a","operator":"Exists"}]}}]}}`},
	"pod.topologySpreadConstraints":           {`[{"maxSkew":1,"topologyKey":"a","whenUnsatisfiable":"ScheduleAnyway"}]`, `[{"maxSkew":2,"topologyKey":"a","whenUnsatisfiable":"ScheduleAnyway"}]`},
	"pod.runtimeClassName":                    {`"a"`, `"b"`},
	"pod.priorityClassName":                   {`"a"`, `"b"`},
	"pod.securityContext.fsGroup":             {`2000`, `2001`},
	"pod.securityContext.fsGroupChangePolicy": {`"OnRootMismatch"`, `"Always"`},
	"pod.securityContext.supplementalGroups":  {`[1,2]`, `[2]`},
	"pod.securityContext.seccompProfile":      {`"a.json"`, `"b.json"`},
	"pod.terminationGracePeriodSeconds":       {`30`, `90`},

	"dispatcher.resources":   {`{"limits":{"memory":"64Mi"}}`, `{"requests":{"cpu":"20m"}}`},
	"dispatcher.logLevel":    {`"debug"`, `"warn"`},
	"service.type":           {`"NodePort"`, `"LoadBalancer"`},
	"service.annotations":    {`{"a":"1","b":"2"}`, `{"a":"3","b":null}`},
	"service.port":           {`8000`, `8001`},
	"service.hosts":          {`["a.example.com"]`, `["a.example.com","b.example.com"]`},
	"network.ingressFrom":    {`[{"podSelector":{}}]`, `[{"cidr":"192.0.2.0/24"}]`},
	"network.metricsFrom":    {`[{"podSelector":{}}]`, `[{"cidr":"192.0.2.0/24"}]`},
	"network.egress":         {`"Open"`, `"DNSOnly"`},
	"network.egressTo":       {`[{"podSelector":{}}]`, `[{"podSelector":{},"ports":[1]}]`},
	"domainModel":            {`{"configMapKeyRef":{"name":"a","key":"b"},"format":"json"}`, `{"configMapKeyRef":{"name":"a","key":"b"},"format":"turtle"}`},
	"telemetry.otlpEndpoint": {`"http://10.0.0.1:4318"`, `"http://10.0.0.2:4318"`},
}

// requiredFields can be changed and not removed: their removal is the change back.
var requiredFields = map[string]string{"container.image": `"example.com/files:1"`, "container.command": `["files"]`, "replicas": `1`}

// elsewhere are the fields that reach the registry document, the index or a status, and no other child. Transport and remote
// make another server, whose rendering is in golden files.
var elsewhere = []string{
	"description", "domain", "capabilities", "remote", "transport", "timeoutSeconds", "limits", "health", "discovery", "trust", "gating",
	"confirm", "expose", "passthrough", "clientFeatures", "validation", "audit", "ruleSets",
}

// children are the specs of a server's children as they stand, but for what the API server gives each new one.
func (w *world) children(name string) string {
	GinkgoHelper()
	d := w.deployment(name)
	named := metav1.ObjectMeta{Namespace: w.namespace, Name: name}
	service, policy := &corev1.Service{ObjectMeta: named}, &networkingv1.NetworkPolicy{ObjectMeta: named}
	account, budget := &corev1.ServiceAccount{ObjectMeta: named}, &policyv1.PodDisruptionBudget{ObjectMeta: named}
	there := map[string]bool{}
	for _, o := range []client.Object{service, policy, account, budget} {
		err := kubectl.Get(w.ctx, client.ObjectKeyFromObject(o), o)
		Expect(client.IgnoreNotFound(err)).To(Succeed())
		there[fmt.Sprintf("%T", o)] = err == nil
	}
	for i := range service.Spec.Ports {
		service.Spec.Ports[i].NodePort = 0
	}
	service.Spec.HealthCheckNodePort = 0
	text, err := json.MarshalIndent(map[string]any{
		"deployment": d.Spec, "service": service.Spec, "annotations": service.Annotations, "policy": policy.Spec, "budget": budget.Spec, "there": there,
	}, "", " ")
	Expect(err).NotTo(HaveOccurred())
	return string(text)
}

// edit writes one field of the spec as a person does, null to remove it, and lets the server's reconciler answer.
func (w *world) edit(name, path, value string) {
	GinkgoHelper()
	patch := value
	for _, key := range slices.Backward(strings.Split("spec."+path, ".")) {
		patch = fmt.Sprintf(`{%q:%s}`, key, patch)
	}
	s := &mcpv1alpha1.MCPServer{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
	Expect(kubectl.Patch(w.ctx, s, client.RawPatch(types.MergePatchType, []byte(patch)))).To(Succeed(), patch)
	Eventually(func(g Gomega) {
		var cached mcpv1alpha1.MCPServer
		g.Expect(w.client.Get(w.ctx, client.ObjectKeyFromObject(s), &cached)).To(Succeed())
		g.Expect(cached.Generation).To(Equal(s.Generation))
	}).Should(Succeed())
	// The second pass is what a hand-over of replicas takes.
	for range 2 {
		Eventually(func() error {
			_, err := reconcile.AsReconciler(w.client, w.Server).Reconcile(w.ctx, w.request(name))
			return err
		}).Should(Succeed())
	}
}

var _ = Describe("Every field of an MCPServer that reaches a child", func() {
	It("is in the table of these specs", func() {
		covered := func(path string) bool {
			return slices.ContainsFunc(slices.Concat(slices.Collect(maps.Keys(childFields)), elsewhere), func(prefix string) bool {
				return path == prefix || strings.HasPrefix(path, prefix+".")
			})
		}
		for path := range loosening.Table {
			if field, ok := strings.CutPrefix(path, "MCPServer."); ok {
				Expect(covered(field)).To(BeTrue(), "%s: set it, change it and remove it here", field)
			}
		}
	})

	It("is rolled out when it is set, changed and removed (mcp-lifecycle-operator 214 and 150, ToolHive 5817)", func() {
		w := newWorld()
		w.create(w.server("files", func(s *mcpv1alpha1.MCPServer) {
			s.Spec.Container.EnvFrom = []mcpv1alpha1.EnvFrom{{ConfigMapRef: "base"}}
			s.Spec.Pod.Volumes = []mcpv1alpha1.Volume{{Name: "data", EmptyDir: &mcpv1alpha1.EmptyDirVolume{}}}
		}))
		w.settle()
		base := w.children("files")
		before := map[string]string{
			"container.envFrom": `[{"configMapRef":"base"}]`, "pod.volumes": `[{"name":"data","emptyDir":{}}]`,
		}
		maps.Copy(before, requiredFields)
		for _, path := range slices.Sorted(maps.Keys(childFields)) {
			seen := []string{base}
			for _, value := range childFields[path] {
				w.edit("files", path, value)
				now := w.children("files")
				Expect(seen).NotTo(ContainElement(now), "%s: %s changes no child", path, value)
				seen = append(seen, now)
			}
			back, ok := before[path]
			if !ok {
				back = "null"
			}
			w.edit("files", path, back)
			Expect(w.children("files")).To(Equal(base), "after the removal of %s", path)
		}
		Expect(w.children("files")).To(Equal(base))
		w.settle()
		rest := w.writes.count()
		w.settle()
		Expect(w.writes.since(rest)).To(BeEmpty())
	})
})
