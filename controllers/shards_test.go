// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/registry/shard"
	"toolgate.dev/toolgate/internal/render"
	"toolgate.dev/toolgate/internal/testutil/fakecluster"
)

var _ = Describe("A registry document in shards", func() {
	var w *world
	BeforeEach(func() { w = newWorld() })

	// objects are the versions of all ConfigMaps of a server's document; their sizes are told.
	objects := func(server string) map[string]string {
		GinkgoHelper()
		var list corev1.ConfigMapList
		Expect(kubectl.List(w.ctx, &list, client.InNamespace(w.namespace), client.MatchingLabels(render.PodSelector(server)))).To(Succeed())
		out, sizes := map[string]string{}, []string{}
		for _, cm := range list.Items {
			data, err := json.Marshal(cm)
			Expect(err).NotTo(HaveOccurred())
			Expect(len(data)).To(BeNumerically("<=", shard.ObjectBytes), cm.Name)
			out[cm.Name] = cm.ResourceVersion
			sizes = append(sizes, fmt.Sprintf("%s: %d", cm.Name, len(data)))
		}
		GinkgoWriter.Println("bytes of each object:", strings.Join(slices.Sorted(slices.Values(sizes)), ", "))
		return out
	}
	rewritten := func(before, after map[string]string) int {
		n := 0
		for name := range after {
			if before[name] != after[name] {
				n++
			}
		}
		for name := range before {
			if after[name] == "" {
				n++
			}
		}
		return n
	}
	ruleSets := func(n int, text func(int) string) {
		GinkgoHelper()
		for i := range n {
			w.create(&mcpv1alpha1.RuleSet{
				ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: fmt.Sprintf("large-%02d", i)},
				Spec:       mcpv1alpha1.RuleSetSpec{Type: mcpv1alpha1.RuleSetPolicy, Rules: largeRules(text)},
			})
		}
	}

	It("holds what one piece would not, changes two objects at a time, and becomes one piece again", func() {
		w.create(w.server("files"))
		w.settle()
		pod := w.runPod("files", fakecluster.Definition("read_file", fakecluster.ReadOnly), fakecluster.Definition("write_file", fakecluster.ReadOnly))
		w.settleEnforced(pod)
		ruleSets(12, prose)
		w.settleEnforced(pod)
		s := w.getServer("files")
		Expect(condition(s.Status.Conditions, "Enforced")).To(Equal("True/Enforced"))
		Expect(condition(w.getRuleSet("large-03").Status.Conditions, "Enforced")).To(Equal("True/Enforced"))
		files := w.files("files")
		Expect(files).To(HaveKey(shard.RootFile))
		Expect(s.Status.RegistryDigest).To(Equal(registry.Digest(files[shard.RootFile])))
		Expect(w.decoded("files").RuleSets).To(HaveLen(12))

		By("denying everything to a dispatcher that reads no shards")
		piece, err := registry.Decode(files[registry.FileName])
		Expect(err).NotTo(HaveOccurred())
		Expect(piece.Policy.Expose).To(Equal(registry.Expose{}))
		Expect(piece.Sequence).To(Equal(w.decoded("files").Sequence))

		By("rewriting a shard and the root for one tool, and for one RuleSet")
		before := objects("files")
		change(w, w.getTool("files.read-file"), func(t *mcpv1alpha1.MCPTool) { t.Spec.State = mcpv1alpha1.StateDisabled })
		w.settleEnforced(pod)
		after := objects("files")
		Expect(rewritten(before, after)).To(Equal(2))
		change(w, w.getRuleSet("large-05"), func(rs *mcpv1alpha1.RuleSet) { rs.Spec.Rules[0].Message = "other" })
		w.settleEnforced(pod)
		Expect(rewritten(after, objects("files"))).To(Equal(2))

		By("writing nothing at rest, nor when the manager starts anew")
		count := w.writes.count()
		w.restart()
		w.settle()
		Expect(w.writes.since(count)).To(BeEmpty())

		By("healing a shard that somebody changed, or took away")
		for _, harm := range []func(*corev1.ConfigMap){
			func(cm *corev1.ConfigMap) {
				cm.BinaryData[slices.Collect(maps.Keys(cm.BinaryData))[0]] = []byte("scribbled")
				Expect(kubectl.Update(w.ctx, cm)).To(Succeed())
			},
			func(cm *corev1.ConfigMap) { Expect(kubectl.Delete(w.ctx, cm)).To(Succeed()) },
		} {
			cm := &corev1.ConfigMap{}
			Expect(kubectl.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: render.ShardName("files", shard.File(2))}, cm)).To(Succeed())
			want := cm.BinaryData[shard.File(2)]
			harm(cm)
			w.settleEnforced(pod)
			Expect(w.files("files")[shard.File(2)]).To(Equal(want))
		}

		By("taking the shards back when the document is small again")
		for i := range 12 {
			Expect(kubectl.Delete(w.ctx, w.getRuleSet(fmt.Sprintf("large-%02d", i)))).To(Succeed())
		}
		w.settleEnforced(pod)
		Expect(objects("files")).To(HaveLen(1))
		Expect(slices.Collect(maps.Keys(w.files("files")))).To(ConsistOf(registry.FileName))
		Expect(condition(w.getServer("files").Status.Conditions, "Enforced")).To(Equal("True/Enforced"))
	})

	It("stands beside one piece for pods of the release before, for as long as there are any", func() {
		w.create(w.server("files", func(s *mcpv1alpha1.MCPServer) { s.Spec.Replicas = new(int32(2)) }))
		w.settle()
		old, young := w.runPod("files", fakecluster.Definition("read_file", fakecluster.ReadOnly)), w.runPod("files", fakecluster.Definition("read_file", fakecluster.ReadOnly))
		w.dispatchers.Say(string(old.UID), func(s *registry.State) { s.Supports = []int{1} })
		w.settleEnforced(old, young)
		ruleSets(10, prose)
		w.settleEnforced(old, young)
		files := w.files("files")
		piece, err := registry.Decode(files[registry.FileName])
		Expect(err).NotTo(HaveOccurred())
		Expect(piece).To(Equal(w.decoded("files")), "one piece says the same as the shards")
		Expect(condition(w.getServer("files").Status.Conditions, "Enforced")).To(Equal("True/Enforced"))
		Expect(condition(w.getRuleSet("large-03").Status.Conditions, "Enforced")).To(Equal("True/Enforced"))
		objects("files")

		By("closing it when the document grows beyond one piece")
		for i := 10; i < 16; i++ {
			w.create(&mcpv1alpha1.RuleSet{
				ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: fmt.Sprintf("large-%02d", i)},
				Spec:       mcpv1alpha1.RuleSetSpec{Type: mcpv1alpha1.RuleSetPolicy, Rules: largeRules(prose)},
			})
		}
		w.settleEnforced(old, young)
		s := w.getServer("files")
		Expect(condition(s.Status.Conditions, "Enforced")).To(Equal("False/RegistryTooLarge"))
		Expect(message(s.Status.Conditions, "Enforced")).To(And(ContainSubstring(old.Name+" refuses every call"), ContainSubstring("an earlier release")))

		By("being well again when the pod has gone")
		Expect(kubectl.Delete(w.ctx, old, client.GracePeriodSeconds(0))).To(Succeed())
		change(w, w.getServer("files"), func(s *mcpv1alpha1.MCPServer) { s.Spec.Replicas = new(int32(1)) })
		w.settleEnforced(young)
		Expect(condition(w.getServer("files").Status.Conditions, "Enforced")).To(Equal("True/Enforced"))
	})

	It("that does not fit denies everything, says so, and opens when it fits again", func() {
		w.create(w.server("files"))
		w.settle()
		pod := w.runPod("files", fakecluster.Definition("read_file", fakecluster.ReadOnly))
		w.settleEnforced(pod)
		huge := hugeRuleSet(w.namespace)
		w.create(huge)
		w.settleEnforced(pod)
		s := w.getServer("files")
		Expect(condition(s.Status.Conditions, "Enforced")).To(Equal("False/RegistryTooLarge"))
		Expect(message(s.Status.Conditions, "Enforced")).To(And(ContainSubstring("RuleSets: 1) does not fit"), ContainSubstring("every call is refused until it fits")))
		Expect(condition(w.getRuleSet("huge").Status.Conditions, "Enforced")).To(HavePrefix("False/"))
		tool := w.getTool("files.read-file")
		Expect(condition(tool.Status.Conditions, "Callable")).To(Equal("False/RegistryTooLarge"))
		Expect(message(tool.Status.Conditions, "Callable")).To(ContainSubstring("shorten rules, or split the server"))
		closed := w.decoded("files")
		Expect(closed.Policy.Expose).To(Equal(registry.Expose{}))
		Expect(closed.Revisions).To(HaveLen(1))
		for _, rev := range closed.Revisions {
			Expect(rev.Tools).To(BeEmpty())
		}
		objects("files")
		count := w.writes.count()
		w.restart()
		By("saying so also where the server is looked at before its document")
		w.seen()
		w.polled()
		for range 2 {
			_, err := reconcile.AsReconciler(w.client, w.Server).Reconcile(w.ctx, w.request("files"))
			Expect(err).NotTo(HaveOccurred())
			_, err = w.Discovery.Reconcile(w.ctx, w.request("files"))
			Expect(err).NotTo(HaveOccurred())
			w.polled()
		}
		w.settle()
		Expect(w.writes.since(count)).To(BeEmpty())
		change(w, huge, func(rs *mcpv1alpha1.RuleSet) { rs.Spec.Rules = rs.Spec.Rules[:30] })
		w.settleEnforced(pod)
		Expect(condition(w.getServer("files").Status.Conditions, "Enforced")).To(Equal("True/Enforced"))
		Expect(w.decoded("files").RuleSets).To(HaveLen(1))
		Expect(condition(w.getTool("files.read-file").Status.Conditions, "Callable")).To(Equal("True/Callable"))
	})
})

// noise is a text that can't be compressed.
func noise(seed, n int) string {
	data := make([]byte, n*3/4)
	_, _ = rand.NewChaCha8([32]byte{byte(seed)}).Read(data) // it never fails
	return base64.StdEncoding.EncodeToString(data)
}

// largeRules are some 30 KiB of rules that are cheap to compile.
func largeRules(text func(int) string) []mcpv1alpha1.Rule {
	var out []mcpv1alpha1.Rule
	for i := range 30 {
		out = append(out, mcpv1alpha1.Rule{Name: fmt.Sprintf("rule-%d", i), Action: mcpv1alpha1.ActionReject, When: "false", Message: text(i)})
	}
	return out
}

// prose is text that compresses well.
func prose(int) string { return strings.Repeat("x", 1000) }

// hugeRuleSet fits into no document.
func hugeRuleSet(namespace string) *mcpv1alpha1.RuleSet {
	rules := largeRules(prose)
	for i := range 80 {
		rules = append(rules, mcpv1alpha1.Rule{Name: fmt.Sprint("noise-", i), Action: mcpv1alpha1.ActionReject, When: "false // " + noise(i, 8000)})
	}
	return &mcpv1alpha1.RuleSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "huge"},
		Spec:       mcpv1alpha1.RuleSetSpec{Type: mcpv1alpha1.RuleSetPolicy, Rules: rules},
	}
}
