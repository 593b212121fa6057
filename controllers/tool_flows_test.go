// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"crypto/sha256"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/render"
	"toolgate.dev/toolgate/internal/testutil/fakecluster"
)

// listing makes server files with one pod that lists definitions.
func (w *world) listing(pinning mcpv1alpha1.Pinning, definitions ...string) *corev1.Pod {
	GinkgoHelper()
	w.create(w.server("files", func(s *mcpv1alpha1.MCPServer) { s.Spec.Discovery.Pinning = pinning }))
	w.settle()
	pod := w.runPod("files", definitions...)
	w.settleEnforced(pod)
	return pod
}

// lists changes what a pod lists.
func (w *world) lists(pod *corev1.Pod, definitions ...string) {
	GinkgoHelper()
	w.dispatchers.Say(string(pod.UID), func(s *registry.State) { s.Catalogue = fakecluster.CatalogueOf(definitions...) })
	w.settleEnforced(pod)
}

// rolls brings server files to another image, with one pod of it, and takes the old pod away.
func (w *world) rolls(image string, old *corev1.Pod, definitions ...string) *corev1.Pod {
	GinkgoHelper()
	change(w, w.getServer("files"), func(s *mcpv1alpha1.MCPServer) { s.Spec.Container.Image = image })
	w.settleEnforced(old)
	next := w.runPod("files", definitions...)
	w.settleEnforced(old, next)
	Expect(kubectl.Delete(w.ctx, old, client.GracePeriodSeconds(0))).To(Succeed())
	w.settleEnforced(next)
	return next
}

func (w *world) registered(name string) string {
	GinkgoHelper()
	return condition(w.getTool(name).Status.Conditions, "Registered")
}

// served is a tool as the dispatchers of the current revision of files see it.
func (w *world) served(tool string) registry.Tool {
	GinkgoHelper()
	revision, err := render.Revision(w.getServer("files"))
	Expect(err).NotTo(HaveOccurred())
	for _, t := range w.decoded("files").Revisions[revision].Tools {
		if t.Name == tool {
			return t
		}
	}
	Fail("tool " + tool + " is not in the document")
	return registry.Tool{}
}

// takes is a read-only tool with parameters, of which some are required.
func takes(name, parameters, required string) string {
	return fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object","properties":{%s},"required":[%s]}%s}`, name, parameters, required, fakecluster.ReadOnly)
}

var (
	readFile      = takes("read_file", `"path":{"type":"string"}`, `"path"`)
	readFileDepth = takes("read_file", `"path":{"type":"string"},"depth":{"type":"integer"}`, `"path"`)
	readFileMode  = takes("read_file", `"path":{"type":"string"},"mode":{"type":"string"}`, `"path","mode"`)
)

var _ = Describe("What becomes of a tool", func() {
	var w *world
	BeforeEach(func() { w = newWorld() })

	It("tells what changed, where and of which kind, when a definition is withheld and again when it changes further", func() {
		pod := w.listing("", readFile)
		Expect(w.getTool("files.read-file").Status.Change).To(HaveField("Kind", BeEquivalentTo("none")))
		w.told()
		w.lists(pod, readFileDepth)
		t := w.getTool("files.read-file")
		Expect(*t.Status.Change).To(Equal(mcpv1alpha1.ToolChange{
			Kind: mcpv1alpha1.ChangeMinor, Text: "/inputSchema/properties/depth is new", From: t.Status.Pins[0].Digest,
		}))
		Expect(string(t.Status.Admitted.InputSchema.Raw)).NotTo(ContainSubstring("depth"), "people see what was admitted beside what is listed")
		Expect(w.told()).To(ContainElement(ContainSubstring("Warning DefinitionChanged the definition is " + t.Status.Observed.Digest)))

		w.restart()
		w.lists(pod, readFileMode)
		Expect(w.told()).To(ContainElement(ContainSubstring(`the change is breaking: /inputSchema/required "mode" is required now; /inputSchema/properties/mode is new`)))
		w.lists(pod, readFile)
		Expect(w.registered("files.read-file")).To(Equal("True/Registered"))
		Expect(w.getTool("files.read-file").Status.Admitted).To(BeNil())
	})

	It("tells what a new revision changed, once", func() {
		pod := w.listing("", readFile)
		w.told()
		next := w.rolls("example.com/files:2", pod, readFileMode)
		Expect(w.registered("files.read-file")).To(Equal("True/Registered"))
		Expect(w.getTool("files.read-file").Status.Change).To(HaveField("Kind", mcpv1alpha1.ChangeBreaking))
		Expect(strings.Count(strings.Join(w.told(), "\n"), `Normal DefinitionChanged a new definition is admitted; the change is breaking: /inputSchema/required "mode" is required now`)).To(Equal(1))
		w.settleEnforced(next)
		Expect(w.told()).NotTo(ContainElement(ContainSubstring("DefinitionChanged")))
	})

	It("holds a declared tool to its contract before the server is there", func() {
		declared := w.tool("files", "read_file", "files.read-file")
		declared.Spec.Contract = &mcpv1alpha1.Contract{Version: "1.0.0", InputSchema: &runtime.RawExtension{Raw: []byte(
			`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)}}
		w.create(declared)
		w.settle()
		Expect(w.registered("files.read-file")).To(Equal("False/Gone"))
		pod := w.listing("", readFileMode)
		Expect(w.registered("files.read-file")).To(Equal("False/ContractBroken"))
		Expect(message(w.getTool("files.read-file").Status.Conditions, "Registered")).To(ContainSubstring(`/inputSchema/required "mode" is required now`))
		Expect(w.served("read_file").Withheld).To(Equal("ContractBroken"))
		Expect(w.told()).To(ContainElement(ContainSubstring("Warning ContractBroken the definition breaks spec.contract")))

		By("admitting a revision that keeps it, with a parameter more")
		pod = w.rolls("example.com/files:2", pod, readFileDepth)
		Expect(w.registered("files.read-file")).To(Equal("True/Registered"))
		Expect(w.served("read_file").Withheld).To(BeEmpty())
		Expect(w.served("read_file").Version).To(Equal("1.0.0"), "rules see it as tool.version")

		By("withholding it, once the contract promises what it does not take")
		change(w, w.getTool("files.read-file"), func(t *mcpv1alpha1.MCPTool) {
			t.Spec.Contract.InputSchema = &runtime.RawExtension{Raw: []byte(`{"type":"object"}`)}
		})
		w.settleEnforced(pod)
		Expect(w.registered("files.read-file")).To(Equal("False/ContractBroken"))
		Expect(w.served("read_file").Withheld).To(Equal("ContractBroken"))
		change(w, w.getTool("files.read-file"), func(t *mcpv1alpha1.MCPTool) { t.Spec.Contract.InputSchema, t.Spec.Contract.DeprecatedIn = nil, "1.0.0" })
		w.settleEnforced(pod)
		Expect(condition(w.getTool("files.read-file").Status.Conditions, "Callable")).To(Equal("True/Deprecated"))
		Expect(w.served("read_file")).To(And(HaveField("Withheld", BeEmpty()), HaveField("DeprecatedIn", "1.0.0")))
	})

	It("holds a tool to its contract where nothing is pinned, also while nobody is there to judge", func() {
		declared := w.tool("files", "read_file", "files.read-file")
		declared.Spec.Contract = &mcpv1alpha1.Contract{InputSchema: &runtime.RawExtension{Raw: []byte(
			`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)}}
		w.create(declared)
		w.create(w.server("files", func(s *mcpv1alpha1.MCPServer) { s.Spec.Discovery.Pinning = mcpv1alpha1.PinningOff }))
		w.settle()
		Expect(w.served("read_file").Withheld).To(Equal("NotDiscovered"), "nobody knows any definition")
		pod := w.runPod("files", readFile)
		w.settleEnforced(pod)
		Expect(w.registered("files.read-file")).To(Equal("True/Registered"))
		known := w.getTool("files.read-file").Status.Observed.Digest
		Expect(w.served("read_file")).To(And(HaveField("Withheld", BeEmpty()), HaveField("Digest", known)))

		By("serving what was judged while another manager begins")
		w.restart()
		w.settle()
		Expect(w.served("read_file").Digest).To(Equal(known))

		By("serving another definition once it has been found to keep it, and none that does not")
		w.lists(pod, readFileDepth)
		Expect(w.served("read_file").Digest).To(And(Not(BeEmpty()), Not(Equal(known))))
		w.lists(pod, readFileMode)
		Expect(w.registered("files.read-file")).To(Equal("False/ContractBroken"))
		Expect(w.served("read_file")).To(And(HaveField("Withheld", "ContractBroken"), HaveField("Digest", BeEmpty()), HaveField("Digests", BeEmpty())))
	})

	It("keeps what was admitted over revisions with Strict pinning", func() {
		pod := w.listing(mcpv1alpha1.PinningStrict, readFile)
		Expect(w.registered("files.read-file")).To(Equal("True/Registered"))
		admitted := w.served("read_file").Digest
		pod = w.rolls("example.com/files:2", pod, readFileDepth, fakecluster.Definition("new_tool", fakecluster.ReadOnly))
		Expect(w.registered("files.read-file")).To(Equal("False/DefinitionChanged"))
		Expect(w.registered("files.new-tool")).To(Equal("False/DefinitionChanged"))
		Expect(w.served("read_file").Digest).To(Equal(admitted))
		Expect(w.served("new_tool").Withheld).To(Equal("DefinitionChanged"))

		By("not reopening first use when the object is deleted")
		Expect(kubectl.Delete(w.ctx, w.getTool("files.read-file"))).To(Succeed())
		w.settleEnforced(pod)
		Expect(w.registered("files.read-file")).To(Equal("False/DefinitionChanged"))
		Expect(w.served("read_file").Digest).To(Equal(admitted), "held to what was listed first, which the manager remembers")
	})

	It("counts no automatic pin with Manual, and none at all with Off but a person's", func() {
		pod := w.listing("", readFile)
		admitted := w.served("read_file").Digest
		pins := func(p mcpv1alpha1.Pinning) {
			change(w, w.getServer("files"), func(s *mcpv1alpha1.MCPServer) { s.Spec.Discovery.Pinning = p })
			w.settleEnforced(pod)
		}
		pins(mcpv1alpha1.PinningManual)
		Expect(w.registered("files.read-file")).To(Equal("False/NotPinned"))
		Expect(w.served("read_file").Withheld).To(Equal("NotPinned"))
		pins(mcpv1alpha1.PinningOff)
		w.lists(pod, readFileDepth)
		Expect(w.registered("files.read-file")).To(Equal("True/Registered"))
		Expect(w.served("read_file").Digest).To(BeEmpty())
		change(w, w.getTool("files.read-file"), func(t *mcpv1alpha1.MCPTool) { t.Spec.Pin = &mcpv1alpha1.Pin{Digest: admitted} })
		w.settleEnforced(pod)
		Expect(w.registered("files.read-file")).To(Equal("False/DefinitionChanged"))
		Expect(w.served("read_file").Digest).To(Equal(admitted))
	})

	It("keeps every decision of a person when the server is deleted and made again, and lets no other server inherit it (C1034)", func() {
		pod := w.listing("", readFile, fakecluster.Definition("remove", ""))
		pin := w.getTool("files.read-file").Status.Observed.Digest
		change(w, w.getTool("files.read-file"), func(t *mcpv1alpha1.MCPTool) {
			t.Spec.Pin, t.Spec.TimeoutSeconds = &mcpv1alpha1.Pin{Digest: pin}, new(int32(7))
			t.Spec.Limits = &mcpv1alpha1.ToolLimits{MaxConcurrent: new(int32(2))}
			t.Spec.RuleSets = []string{"no-secrets"}
			t.Spec.Hints.Destructive = mcpv1alpha1.HintTrue
		})
		change(w, w.getTool("files.remove"), func(t *mcpv1alpha1.MCPTool) { t.Spec.State = mcpv1alpha1.StateDisabled })
		w.settleEnforced(pod)
		spec := w.getTool("files.read-file").Spec
		Expect(kubectl.Delete(w.ctx, pod, client.GracePeriodSeconds(0))).To(Succeed())
		Expect(kubectl.Delete(w.ctx, w.getServer("files"))).To(Succeed())
		w.collect("files")
		w.settle()
		Expect(w.registered("files.read-file")).To(Equal("False/Gone"))

		pod = w.listing("", readFileMode, fakecluster.Definition("remove", ""))
		Expect(w.getTool("files.read-file").Spec).To(Equal(spec))
		Expect(w.registered("files.read-file")).To(Equal("False/DefinitionChanged"), "the pin is for one definition")
		Expect(w.registered("files.remove")).To(Equal("False/Disabled"))
		Expect(w.served("read_file")).To(And(HaveField("Digest", pin), HaveField("TimeoutSeconds", 7), HaveField("Limits.MaxConcurrent", 2),
			HaveField("Hints.Destructive", HaveValue(BeTrue()))))
		Expect(w.decoded("files").RuleSets).To(ConsistOf(HaveField("ToolScoped", ConsistOf("read_file"))))

		By("looking at another server")
		w.create(w.server("other"))
		w.settle()
		other := w.runPod("other", readFile, fakecluster.Definition("remove", ""))
		w.settleEnforced(pod, other)
		Expect(w.registered("other.remove")).To(Equal("True/Registered"))
		Expect(w.getTool("other.read-file").Spec).To(Equal(mcpv1alpha1.MCPToolSpec{ServerRef: mcpv1alpha1.ServerRef{Name: "other"}, ToolName: "read_file"}))
	})

	It("lets a tool go and come back as it was, and takes a renamed one for another", func() {
		pod := w.listing("", readFile, fakecluster.Definition("old_tool", fakecluster.ReadOnly))
		w.lists(pod, readFile)
		Expect(w.registered("files.old-tool")).To(Equal("False/Gone"))
		w.lists(pod, readFile, fakecluster.Definition("old_tool", fakecluster.ReadOnly))
		Expect(w.registered("files.old-tool")).To(Equal("True/Registered"))
		w.lists(pod, readFile, fakecluster.Definition("old_tool2", fakecluster.ReadOnly))
		Expect(w.registered("files.old-tool")).To(Equal("False/Gone"))
		Expect(w.registered("files.old-tool2")).To(Equal("False/DefinitionChanged"))
		Expect(w.served("old_tool2").Digest).To(BeEmpty())
	})

	It("says that replicas differ, and serves the admitted definition where it is listed", func() {
		pod := w.listing("", readFile)
		other := w.runPod("files", readFileMode)
		w.settleEnforced(pod, other)
		t := w.getTool("files.read-file")
		Expect(t.Status.Observed.Variants).To(BeEquivalentTo(2))
		Expect(t.Status.Observed.Digest).To(Equal(t.Status.Pins[0].Digest))
		Expect(w.registered("files.read-file")).To(Equal("True/Registered"))
		Expect(message(t.Status.Conditions, "Registered")).To(ContainSubstring("replicas list 2 different definitions"))
	})

	It("withholds names that are one in the form of DNS until a person declares them", func() {
		one, two := colliding()
		pod := w.listing("", fakecluster.Definition(one, fakecluster.ReadOnly), fakecluster.Definition(two, fakecluster.ReadOnly))
		var tools mcpv1alpha1.MCPToolList
		Expect(kubectl.List(w.ctx, &tools, client.InNamespace(w.namespace))).To(Succeed())
		Expect(tools.Items).To(HaveLen(2))
		for _, t := range tools.Items {
			Expect(condition(t.Status.Conditions, "Registered")).To(Equal("False/DuplicateName"), t.Name)
			Expect(message(t.Status.Conditions, "Registered")).To(And(ContainSubstring(one), ContainSubstring(two), ContainSubstring("one object name")))
			Expect(w.served(t.Spec.ToolName).Withheld).To(Equal("DuplicateName"))
		}
		change(w, &tools.Items[0], func(t *mcpv1alpha1.MCPTool) { t.Spec.TimeoutSeconds = new(int32(5)) })
		w.settleEnforced(pod)
		Expect(w.registered(tools.Items[0].Name)).To(Equal("True/Registered"))
		Expect(w.registered(tools.Items[1].Name)).To(Equal("False/DuplicateName"))
	})

	It("keeps the digest of a schema that is too large to show", func() {
		large := takes("read_file", `"path":{"type":"string","description":"`+strings.Repeat("x", 20_000)+`"}`, `"path"`)
		w.listing("", large)
		t := w.getTool("files.read-file")
		Expect(t.Status.Observed).To(And(HaveField("InputSchema", BeNil()), HaveField("SchemaOmitted", ConsistOf("inputSchema")), HaveField("Digest", Not(BeEmpty()))))
		Expect(w.served("read_file").Digest).To(Equal(t.Status.Observed.Digest))
		Expect(w.registered("files.read-file")).To(Equal("True/Registered"))
	})

	It("counts all tools and shows each with its annotations (S1, 625, 364, C893)", func() {
		w.listing("", readFile, fakecluster.Definition("remove", `,"annotations":{"destructiveHint":true,"idempotentHint":true}`), fakecluster.Definition("bare", ""))
		Expect(w.getServer("files").Status.ToolsCount).To(HaveValue(BeEquivalentTo(3)))
		Expect(*w.getTool("files.remove").Status.Observed.Annotations).To(Equal(mcpv1alpha1.ToolAnnotations{
			Destructive: mcpv1alpha1.HintTrue, Idempotent: mcpv1alpha1.HintTrue,
		}))
		because := map[string]mcpv1alpha1.DestructiveStatus{}
		for _, name := range []string{"files.read-file", "files.remove", "files.bare"} {
			because[name] = *w.getTool(name).Status.Destructive
		}
		Expect(because).To(Equal(map[string]mcpv1alpha1.DestructiveStatus{
			"files.read-file": {Verdict: "False", Because: "Annotation"},
			"files.remove":    {Verdict: "True", Because: "Annotation"},
			"files.bare":      {Verdict: "True", Because: "Default"},
		}))
	})

	It("loses no tool and no gate while the manager starts before a server that is down (2255, C917)", func() {
		pod := w.listing("", readFile, fakecluster.Definition("remove", ""))
		change(w, w.getTool("files.read-file"), func(t *mcpv1alpha1.MCPTool) { t.Spec.State = mcpv1alpha1.StateDisabled })
		w.lists(pod, readFile, fakecluster.Definition("remove", `,"title":"changed"`))
		before := map[string]mcpv1alpha1.MCPToolStatus{"files.read-file": w.getTool("files.read-file").Status, "files.remove": w.getTool("files.remove").Status}
		document := w.decoded("files")
		w.dispatchers.Say(string(pod.UID), nil)
		w.restart()
		w.settle()
		for name, status := range before {
			Expect(w.getTool(name).Status).To(Equal(status), name)
		}
		Expect(w.decoded("files").Revisions).To(Equal(document.Revisions))
		Expect(w.served("read_file").Withheld).To(Equal("Disabled"))
		Expect(w.registered("files.remove")).To(Equal("False/DefinitionChanged"))
	})
})

// colliding are two names of tools that are one as the name of an object: a server can look for them.
func colliding() (one, two string) {
	seen := map[[4]byte]string{}
	for i := 0; ; i++ {
		name := "A"
		for digits, place := i, 0; place < 14; place++ {
			name += string("._-"[digits%3]) + "a"
			digits /= 3
		}
		sum := sha256.Sum256([]byte(name))
		head := [4]byte(sum[:4])
		if other, ok := seen[head]; ok {
			return other, name
		}
		seen[head] = name
	}
}

// collect takes away what the garbage collector of a cluster would, of a server that is gone.
func (w *world) collect(server string) {
	GinkgoHelper()
	for _, o := range []client.Object{
		&appsv1.Deployment{}, &appsv1.ReplicaSet{}, &corev1.Service{}, &corev1.ServiceAccount{}, &corev1.ConfigMap{}, &networkingv1.NetworkPolicy{},
	} {
		Expect(kubectl.DeleteAllOf(w.ctx, o, client.InNamespace(w.namespace), client.MatchingLabels(render.PodSelector(server)))).To(Succeed())
	}
	var tools mcpv1alpha1.MCPToolList
	Expect(kubectl.List(w.ctx, &tools, client.InNamespace(w.namespace))).To(Succeed())
	for i := range tools.Items {
		if ref := metav1.GetControllerOf(&tools.Items[i]); ref != nil && ref.Name == server {
			Expect(client.IgnoreNotFound(kubectl.Delete(w.ctx, &tools.Items[i]))).To(Succeed())
		}
	}
}
