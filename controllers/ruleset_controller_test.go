// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers/decide"
)

var _ = Describe("A RuleSet", func() {
	var w *world
	BeforeEach(func() { w = newWorld() })

	ruleSet := func(name, when string) *mcpv1alpha1.RuleSet {
		return &mcpv1alpha1.RuleSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name},
			Spec: mcpv1alpha1.RuleSetSpec{
				Type: mcpv1alpha1.RuleSetPolicy,
				Rules: []mcpv1alpha1.Rule{{
					Name: "no-root", Action: mcpv1alpha1.ActionReject, Message: "not there", When: when,
				}},
			},
		}
	}
	running := func(name string) *corev1.Pod {
		GinkgoHelper()
		w.create(w.server(name))
		w.settle()
		pod := w.runPod(name, definition("read_file", readOnly))
		w.settleEnforced(pod)
		return pod
	}
	const good = `args.path.startsWith("/etc")`

	It("is enforced when every pod of every server that it reaches says so, and not before", func() {
		first, second := running("files"), running("other")
		w.create(ruleSet("paths", good))
		w.settle()
		rs := w.getRuleSet("paths")
		Expect(condition(rs.Status.Conditions, "Accepted")).To(Equal("True/Accepted"), message(rs.Status.Conditions, "Accepted"))
		Expect(condition(rs.Status.Conditions, "Enforced")).To(Equal("False/Progressing"))
		Expect(condition(w.getServer("files").Status.Conditions, "Ready")).To(Equal("True/Progressing"))
		Expect(*rs.Status.MatchedServers).To(BeEquivalentTo(2))
		Expect(*rs.Status.MatchedTools).To(BeEquivalentTo(2))

		w.enforce(first)
		w.settle()
		rs = w.getRuleSet("paths")
		Expect(condition(rs.Status.Conditions, "Enforced")).To(Equal("False/Progressing"))
		Expect(*rs.Status.EnforcedServers).To(BeEquivalentTo(1))

		By("lagging after a while, naming the pod")
		w.clock.Step(decide.Grace + time.Second)
		w.settle()
		rs = w.getRuleSet("paths")
		Expect(condition(rs.Status.Conditions, "Enforced")).To(Equal("False/Lagging"))
		Expect(message(rs.Status.Conditions, "Enforced")).To(ContainSubstring(second.Name))
		Expect(condition(w.getServer("other").Status.Conditions, "Ready")).To(Equal("False/Lagging"))

		w.settleEnforced(first, second)
		Expect(condition(w.getRuleSet("paths").Status.Conditions, "Ready")).To(Equal("True/Ready"))
		Expect(*w.getRuleSet("paths").Status.EnforcedServers).To(BeEquivalentTo(2))

		By("staying so over a restart, without a write")
		rest := w.writes.count()
		w.restart()
		w.seen()
		w.pass()
		w.settle()
		Expect(w.writes.since(rest)).To(BeEmpty())

		By("asking anew for each generation")
		change(w, w.getRuleSet("paths"), func(rs *mcpv1alpha1.RuleSet) { rs.Spec.Rules[0].When = `args.path == "/"` })
		w.settle()
		Expect(condition(w.getRuleSet("paths").Status.Conditions, "Enforced")).To(Equal("False/Progressing"))
		w.settleEnforced(first, second)
		Expect(condition(w.getRuleSet("paths").Status.Conditions, "Enforced")).To(Equal("True/Enforced"))
	})

	It("that does not compile denies what it governs, and says where", func() {
		pod := running("files")
		w.create(ruleSet("paths", "args.path.startsWith("))
		w.settleEnforced(pod)
		rs := w.getRuleSet("paths")
		Expect(condition(rs.Status.Conditions, "Ready")).To(Equal("False/InvalidRules"))
		Expect(rs.Status.RuleErrors).To(ContainElement(HaveField("Rule", "no-root")))
		Expect(condition(w.getTool("files.read-file").Status.Conditions, "Callable")).To(Equal("False/RuleSetInvalid"))
		doc := w.decoded("files")
		Expect(doc.RuleSets).To(HaveLen(1))
		Expect(doc.RuleSets[0].Broken).NotTo(BeEmpty())

		change(w, rs, func(rs *mcpv1alpha1.RuleSet) { rs.Spec.Rules[0].When = good })
		w.settleEnforced(pod)
		Expect(condition(w.getTool("files.read-file").Status.Conditions, "Callable")).To(Equal("True/Callable"))
		Expect(condition(w.getRuleSet("paths").Status.Conditions, "Ready")).To(Equal("True/Ready"))
	})

	It("that is named and missing denies what it would govern, until it is there", func() {
		pod := running("files")
		change(w, w.getServer("files"), func(s *mcpv1alpha1.MCPServer) { s.Spec.RuleSets = []string{"paths"} })
		w.settleEnforced(pod)
		Expect(condition(w.getServer("files").Status.Conditions, "Ready")).To(Equal("False/RuleSetNotFound"))
		Expect(condition(w.getTool("files.read-file").Status.Conditions, "Callable")).To(Equal("False/RuleSetInvalid"))
		Expect(w.decoded("files").RuleSets[0].Broken).To(ContainSubstring("does not exist"))

		w.create(ruleSet("paths", good))
		w.settleEnforced(pod)
		Expect(condition(w.getServer("files").Status.Conditions, "Ready")).To(Equal("True/Ready"))
		Expect(condition(w.getTool("files.read-file").Status.Conditions, "Callable")).To(Equal("True/Callable"))
	})

	It("governs by selector, by the server's word and by a tool's", func() {
		pod := running("files")
		narrow := ruleSet("narrow", good)
		narrow.Spec.Servers = &mcpv1alpha1.ServerSelector{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}}
		w.create(narrow)
		w.settleEnforced(pod)
		Expect(w.decoded("files").RuleSets).To(BeEmpty())
		Expect(condition(w.getRuleSet("narrow").Status.Conditions, "Enforced")).To(Equal("True/NoServers"))

		change(w, w.getTool("files.read-file"), func(t *mcpv1alpha1.MCPTool) { t.Spec.RuleSets = []string{"narrow"} })
		w.settleEnforced(pod)
		Expect(w.decoded("files").RuleSets).To(ConsistOf(And(HaveField("Reach", BeEquivalentTo("Tools")), HaveField("ToolScoped", ConsistOf("read_file")))))

		change(w, w.getServer("files"), func(s *mcpv1alpha1.MCPServer) { s.Labels = map[string]string{"team": "a"} })
		w.settleEnforced(pod)
		Expect(w.decoded("files").RuleSets).To(ConsistOf(HaveField("Reach", BeEmpty())))
	})
})
