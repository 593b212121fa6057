// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers/decide"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/render"
	"toolgate.dev/toolgate/internal/testutil/fakecluster"
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
		pod := w.runPod(name, fakecluster.Definition("read_file", fakecluster.ReadOnly))
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

	It("is in force on a server that is being deleted as long as its pods serve, which gets nothing new", func() {
		pod := running("files")
		w.create(ruleSet("paths", good))
		w.settleEnforced(pod)
		change(w, w.getServer("files"), func(s *mcpv1alpha1.MCPServer) { s.Finalizers = []string{"example.com/hold"} })
		DeferCleanup(func() {
			change(w, w.getServer("files"), func(s *mcpv1alpha1.MCPServer) { s.Finalizers = nil })
		})
		Expect(kubectl.Delete(w.ctx, w.getServer("files"))).To(Succeed())
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "files"}}
		Expect(kubectl.Delete(w.ctx, account)).To(Succeed())
		w.settle()
		Expect(condition(w.getRuleSet("paths").Status.Conditions, "Enforced")).To(Equal("True/Enforced"))
		Expect(condition(w.getTool("files.read-file").Status.Conditions, "Callable")).To(Equal("True/Callable"))

		change(w, w.getRuleSet("paths"), func(rs *mcpv1alpha1.RuleSet) { rs.Spec.Rules[0].When = `args.path == "/"` })
		w.settle()
		Expect(condition(w.getRuleSet("paths").Status.Conditions, "Enforced")).To(Equal("False/Progressing"))
		w.settleEnforced(pod)
		Expect(condition(w.getRuleSet("paths").Status.Conditions, "Enforced")).To(Equal("True/Enforced"))
		Expect(w.decoded("files").RuleSets[0].Rules[0].When).To(Equal(`args.path == "/"`))
		Expect(*w.getRuleSet("paths").Status.EnforcedServers).To(BeEquivalentTo(1))

		w.dispatchers.Say(string(pod.UID), func(s *registry.State) {
			s.Catalogue = fakecluster.CatalogueOf(fakecluster.Definition("read_file", fakecluster.ReadOnly), fakecluster.Definition("another", fakecluster.ReadOnly))
		})
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: render.RegistryName("files")}}
		Expect(kubectl.Delete(w.ctx, cm)).To(Succeed())
		change(w, w.getRuleSet("paths"), func(rs *mcpv1alpha1.RuleSet) { rs.Spec.Rules[0].When = good })
		w.settle()
		for _, o := range []client.Object{account, cm, &mcpv1alpha1.MCPTool{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "files.another"}}} {
			Expect(apierrors.IsNotFound(kubectl.Get(w.ctx, client.ObjectKeyFromObject(o), o))).To(BeTrue(), "%T", o)
		}
		Expect(condition(w.getRuleSet("paths").Status.Conditions, "Enforced")).To(HavePrefix("False/"))

		Expect(kubectl.Delete(w.ctx, pod, client.GracePeriodSeconds(0))).To(Succeed())
		w.settle()
		Expect(*w.getRuleSet("paths").Status.MatchedServers).To(BeZero())
	})

	It("that does not compile denies what it governs, and says where", func() {
		pod := running("files")
		w.create(ruleSet("paths", "args.path.startsWith("))
		w.settleEnforced(pod)
		rs := w.getRuleSet("paths")
		Expect(condition(rs.Status.Conditions, "Ready")).To(Equal("False/InvalidRules"))
		Expect(message(rs.Status.Conditions, "Accepted")).To(ContainSubstring("rule no-root, field when, line 1, column 22: "))
		Expect(rs.Status.RuleErrors).To(ContainElement(And(HaveField("Rule", "no-root"), HaveField("Line", BeEquivalentTo(1)), HaveField("Column", BeEquivalentTo(22)))))
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

	It("that a tool names and that is missing denies that tool alone, until it is there", func() {
		w.create(w.server("files"))
		w.settle()
		pod := w.runPod("files", fakecluster.Definition("read_file", fakecluster.ReadOnly), fakecluster.Definition("list_files", fakecluster.ReadOnly))
		w.settleEnforced(pod)
		change(w, w.getTool("files.read-file"), func(t *mcpv1alpha1.MCPTool) { t.Spec.RuleSets = []string{"paths"} })
		w.settleEnforced(pod)
		Expect(condition(w.getTool("files.read-file").Status.Conditions, "Callable")).To(Equal("False/RuleSetInvalid"))
		Expect(condition(w.getTool("files.list-files").Status.Conditions, "Callable")).To(Equal("True/Callable"))

		w.create(ruleSet("paths", good))
		w.settleEnforced(pod)
		Expect(condition(w.getTool("files.read-file").Status.Conditions, "Callable")).To(Equal("True/Callable"))
	})

	It("that was deleted and made again is not in force because the old one is", func() {
		pod := running("files")
		w.create(ruleSet("paths", good))
		w.settleEnforced(pod)
		Expect(condition(w.getRuleSet("paths").Status.Conditions, "Enforced")).To(Equal("True/Enforced"))

		Expect(kubectl.Delete(w.ctx, w.getRuleSet("paths"))).To(Succeed())
		w.create(ruleSet("paths", `args.path == "/"`))
		Expect(w.getRuleSet("paths").Generation).To(BeEquivalentTo(1))
		w.settle()
		Expect(condition(w.getRuleSet("paths").Status.Conditions, "Enforced")).To(Equal("False/Progressing"))
		w.settleEnforced(pod)
		Expect(condition(w.getRuleSet("paths").Status.Conditions, "Enforced")).To(Equal("True/Enforced"))
	})

	It("is not in force on a tool that has just named it, before the pod says so", func() {
		pod := running("files")
		elsewhere := ruleSet("elsewhere", good)
		elsewhere.Spec.Servers = &mcpv1alpha1.ServerSelector{Names: []string{"files"}}
		elsewhere.Spec.Tools = &mcpv1alpha1.ToolSelector{Names: []string{"write_*"}}
		w.create(elsewhere)
		w.settleEnforced(pod)
		Expect(*w.getRuleSet("elsewhere").Status.MatchedTools).To(BeZero())

		change(w, w.getTool("files.read-file"), func(t *mcpv1alpha1.MCPTool) { t.Spec.RuleSets = []string{"elsewhere"} })
		w.settle()
		rs := w.getRuleSet("elsewhere")
		Expect(*rs.Status.MatchedTools).To(BeEquivalentTo(1))
		Expect(condition(rs.Status.Conditions, "Enforced")).To(Equal("False/Progressing"))
		w.settleEnforced(pod)
		Expect(condition(w.getRuleSet("elsewhere").Status.Conditions, "Enforced")).To(Equal("True/Enforced"))
	})

	It("counts the tools that it has a say on", func() {
		w.create(w.server("files"))
		w.settle()
		pod := w.runPod("files", fakecluster.Definition("read_file", fakecluster.ReadOnly), fakecluster.Definition("write_file", ""), fakecluster.Definition("write_log", fakecluster.ReadOnly))
		w.settleEnforced(pod)
		for name, edit := range map[string]func(*mcpv1alpha1.RuleSetSpec){
			"all-of-them":  func(*mcpv1alpha1.RuleSetSpec) {},
			"some-by-glob": func(s *mcpv1alpha1.RuleSetSpec) { s.Tools = &mcpv1alpha1.ToolSelector{Names: []string{"write_*"}} },
			"destructive-ones": func(s *mcpv1alpha1.RuleSetSpec) {
				s.Tools = &mcpv1alpha1.ToolSelector{Destructive: mcpv1alpha1.DestructiveOnly}
			},
			"other-methods": func(s *mcpv1alpha1.RuleSetSpec) { s.Methods = []string{"resources/read"} },
			"some-callers": func(s *mcpv1alpha1.RuleSetSpec) {
				s.Callers = &mcpv1alpha1.CallerSelector{Groups: []string{"contractors"}}
			},
		} {
			rs := ruleSet(name, good)
			edit(&rs.Spec)
			w.create(rs)
		}
		w.settleEnforced(pod)
		for name, want := range map[string]int32{
			"all-of-them": 3, "some-by-glob": 2, "destructive-ones": 1, "other-methods": 0, "some-callers": 3,
		} {
			rs := w.getRuleSet(name)
			Expect(*rs.Status.MatchedTools).To(Equal(want), name)
			Expect(condition(rs.Status.Conditions, "Ready")).To(Equal("True/Ready"), name)
		}
		change(w, w.getServer("files"), func(s *mcpv1alpha1.MCPServer) { s.Spec.Gating.Scope = mcpv1alpha1.GateMutating })
		change(w, w.getTool("files.write-file"), func(t *mcpv1alpha1.MCPTool) { t.Spec.Hints.Destructive = mcpv1alpha1.HintFalse })
		w.settleEnforced(pod)
		Expect(*w.getRuleSet("destructive-ones").Status.MatchedTools).To(BeEquivalentTo(1), "what is gated counts as destructive, as dispatchers have it")
		Expect(w.decoded("files").RuleSets).To(ContainElement(And(HaveField("Name", "some-callers"), HaveField("Callers.Groups", ConsistOf("contractors")))))
	})

	It("in Audit mode denies nothing, not even where it does not compile", func() {
		pod := running("files")
		broken := ruleSet("paths", "args.path.startsWith(")
		broken.Spec.Enforcement = mcpv1alpha1.EnforcementAudit
		w.create(broken)
		w.settleEnforced(pod)
		Expect(condition(w.getRuleSet("paths").Status.Conditions, "Ready")).To(Equal("False/InvalidRules"))
		Expect(condition(w.getTool("files.read-file").Status.Conditions, "Callable")).To(Equal("True/Callable"))
		Expect(w.decoded("files").RuleSets[0].Enforcement).To(BeEquivalentTo("Audit"))
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
