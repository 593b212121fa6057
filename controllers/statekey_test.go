// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers/decide"
	"toolgate.dev/toolgate/controllers/keyring"
	"toolgate.dev/toolgate/controllers/prober"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/registry/statekey"
	"toolgate.dev/toolgate/internal/render"
	"toolgate.dev/toolgate/internal/render/workload"
	"toolgate.dev/toolgate/internal/testutil/fakecluster"
)

var _ = Describe("What dispatchers say", func() {
	var w *world
	BeforeEach(func() { w = newWorld() })

	enforced := func() string {
		GinkgoHelper()
		return condition(w.getServer("files").Status.Conditions, "Enforced")
	}
	keyed := func() string {
		GinkgoHelper()
		return workload.StateKeyOf(w.deployment("files").Spec.Template.Spec.Volumes)
	}
	tools := func() (names []string) {
		GinkgoHelper()
		var list mcpv1alpha1.MCPToolList
		Expect(kubectl.List(w.ctx, &list, client.InNamespace(w.namespace))).To(Succeed())
		for i := range list.Items {
			names = append(names, list.Items[i].Name)
		}
		return names
	}
	running := func() *corev1.Pod {
		GinkgoHelper()
		w.create(w.server("files"))
		w.settle()
		pod := w.runPod("files", fakecluster.Definition("read_file", fakecluster.ReadOnly))
		w.settleEnforced(pod)
		return pod
	}

	It("is proven by a key in a Secret that is made once, before the pods, and never read", func() {
		running()
		Expect(w.secrets()).To(ConsistOf(And(
			HaveField("Name", workload.StateKeyName("files", keyed())),
			HaveField("Immutable", HaveValue(BeTrue())),
			HaveField("OwnerReferences", ConsistOf(HaveField("UID", w.getServer("files").UID))))))
		Expect(enforced()).To(Equal("True/Enforced"))

		By("writing nothing more, over a restart too")
		rest := w.writes.count()
		w.restart()
		w.settle()
		Expect(w.writes.since(rest)).To(BeEmpty())
	})

	It("is not believed from somebody else, and is again from the dispatcher", func() {
		pod := running()
		w.dispatchers.Prove(string(pod.UID), statekey.Derive([statekey.Size]byte{9}, "whatever"))
		w.dispatchers.Say(string(pod.UID), func(s *registry.State) {
			s.Catalogue = fakecluster.CatalogueOf(fakecluster.Definition("read_file", fakecluster.ReadOnly), fakecluster.Definition("write_file", fakecluster.ReadOnly))
		})
		w.awaitForged()
		w.pass()
		conditions := w.getServer("files").Status.Conditions
		Expect(condition(conditions, "Enforced")).To(Equal("False/StateNotAuthentic"))
		Expect(message(conditions, "Enforced")).To(Equal("pod " + pod.Name +
			": somebody else than this pod's dispatcher answers at its admin port, so nothing of it is believed: the answer's code does not fit the server's key"))
		Expect(condition(conditions, "Ready")).To(Equal("False/StateNotAuthentic"))
		Expect(tools()).To(ConsistOf("files.read-file"))

		w.dispatchers.Prove(string(pod.UID), w.mountedKey("files"))
		w.settleEnforced(pod)
		Expect(enforced()).To(Equal("True/Enforced"))
		Expect(tools()).To(ConsistOf("files.read-file", "files.write-file"))
	})

	It("is believed of pods that predate keys, until a rollout has replaced them", func() {
		ring := w.keys
		w.keys = nil
		w.restart()
		old := running()
		Expect(w.secrets()).To(BeEmpty())
		Expect(keyed()).To(BeEmpty())

		w.keys = ring
		w.restart()
		w.settle()
		Expect(enforced()).To(Equal("True/Enforced"))
		Expect(keyed()).NotTo(BeEmpty())
		young := w.runPod("files", fakecluster.Definition("read_file", fakecluster.ReadOnly))
		w.settleEnforced(old, young)
		Expect(enforced()).To(Equal("True/Enforced"))
	})

	It("is proven by a new key after the manager's secret was replaced, and by the one before meanwhile", func() {
		old, before := running(), keyed()
		w.keys = keyring.New([statekey.Size]byte{2}, [statekey.Size]byte{1})
		w.restart()
		w.settle()
		Expect(enforced()).To(Equal("True/Enforced"))
		Expect(keyed()).NotTo(Equal(before))
		Expect(w.secrets()).To(HaveLen(2))
		young := w.runPod("files", fakecluster.Definition("read_file", fakecluster.ReadOnly))
		w.settleEnforced(old, young)
		Expect(enforced()).To(Equal("True/Enforced"))
	})

	It("can be proven again after somebody has deleted the Secret", func() {
		running()
		gone := w.secrets()[0]
		Expect(kubectl.Delete(w.ctx, &gone)).To(Succeed())
		w.waitingPod("files")
		w.settle()
		Expect(w.secrets()).To(BeEmpty())
		w.clock.Step(decide.VolumesGrace + time.Second)
		w.settle()
		Expect(w.secrets()).To(ConsistOf(And(HaveField("Name", gone.Name), HaveField("Data", gone.Data))))

		By("asking ever more seldom while a pod waits, as nobody can see whether it is there")
		Expect(kubectl.Delete(w.ctx, &w.secrets()[0])).To(Succeed())
		w.settle()
		Expect(w.secrets()).To(BeEmpty())
		w.clock.Step(decide.VolumesGrace)
		w.settle()
		Expect(w.secrets()).To(HaveLen(1))
	})

	It("is not believed from the server in the pod, nor from whoever has got its address", func() {
		pod := running()
		for who, key := range map[string]statekey.Key{
			"the server itself, which has no key":       {},
			"another server's dispatcher, with its own": w.keys.Current("another"),
			"one that has made up a key":                statekey.Derive([statekey.Size]byte{}, "files"),
		} {
			w.dispatchers.Prove(string(pod.UID), key)
			w.dispatchers.Say(string(pod.UID), func(s *registry.State) { s.Registry.Digest, s.Registry.Error = "", who })
			w.awaitForged()
			w.pass()
			Expect(enforced()).To(Equal("False/StateNotAuthentic"), who)
			w.dispatchers.Prove(string(pod.UID), w.mountedKey("files"))
			w.enforce(pod)
			w.settleEnforced(pod)
			Expect(enforced()).To(Equal("True/Enforced"), who)
		}
	})

	It("has to be proven whatever people write on pods and Deployments", func() {
		pod, key := running(), keyed()
		bare := func(o client.Object) {
			GinkgoHelper()
			patch := client.MergeFrom(o.DeepCopyObject().(client.Object))
			o.SetAnnotations(nil)
			Expect(kubectl.Patch(w.ctx, o, patch)).To(Succeed())
		}
		By("taking annotations off, and what nobody can take off: a pod's volumes")
		bare(pod)
		bare(w.deployment("files"))
		volumes := pod.DeepCopy()
		volumes.Spec.Volumes = nil
		Expect(kubectl.Update(w.ctx, volumes)).To(MatchError(ContainSubstring("pod updates may not change fields")))
		w.dispatchers.Prove(string(pod.UID), statekey.Key{})
		w.awaitForged()
		w.seen()
		w.pass()
		Expect(enforced()).To(Equal("False/StateNotAuthentic"))
		w.dispatchers.Prove(string(pod.UID), w.mountedKey("files"))

		By("taking the key off the Deployment, which puts it back before there are pods without")
		d := w.deployment("files")
		d.Spec.Template.Spec.Volumes = slices.DeleteFunc(d.Spec.Template.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == "toolgate-state-key" })
		for i := range d.Spec.Template.Spec.InitContainers {
			c := &d.Spec.Template.Spec.InitContainers[i]
			c.VolumeMounts = slices.DeleteFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == "toolgate-state-key" })
		}
		Expect(kubectl.Update(w.ctx, d)).To(Succeed())
		Expect(keyed()).To(BeEmpty())
		w.settle()
		Expect(keyed()).To(Equal(key))
	})

	It("is proven by keys of one secret for all managers, made by whichever comes first", func() {
		first, err := keyring.Load(w.ctx, kubectl, w.namespace)
		Expect(err).NotTo(HaveOccurred())
		second, err := keyring.Load(w.ctx, kubectl, w.namespace)
		Expect(err).NotTo(HaveOccurred())
		Expect(second.Current("u1")).To(Equal(first.Current("u1")))

		By("replacing it, and keeping the one before for the time of the rollout")
		var own corev1.Secret
		Expect(kubectl.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: keyring.SecretName}, &own)).To(Succeed())
		own.Data["previous"], own.Data["current"] = own.Data["current"], make([]byte, statekey.Size)
		Expect(kubectl.Update(w.ctx, &own)).To(Succeed())
		third, err := keyring.Load(w.ctx, kubectl, w.namespace)
		Expect(err).NotTo(HaveOccurred())
		Expect(third.Current("u1")).NotTo(Equal(first.Current("u1")))
		Expect(third.Named("u1", first.Current("u1").Name())).To(Equal(first.Current("u1")))

		By("refusing one that is too short")
		own.Data["current"] = []byte("short")
		Expect(kubectl.Update(w.ctx, &own)).To(Succeed())
		_, err = keyring.Load(w.ctx, kubectl, w.namespace)
		Expect(err).To(MatchError(ContainSubstring("current has 5 bytes and needs 32 random ones")))
	})
})

// awaitForged lets polling go on until the answers of the one pod are not believed.
func (w *world) awaitForged() {
	GinkgoHelper()
	Eventually(func() bool {
		w.pollClock.Step(prober.Interval)
		seen := w.Prober.Observe(types.NamespacedName{Namespace: w.namespace, Name: "files"})
		return len(seen) == 1 && seen[0].Forged
	}).Should(BeTrue())
}

// secrets are those of servers' keys.
func (w *world) secrets() []corev1.Secret {
	GinkgoHelper()
	var list corev1.SecretList
	Expect(kubectl.List(w.ctx, &list, client.InNamespace(w.namespace))).To(Succeed())
	return list.Items
}

// mountedKey is what the dispatchers of a server find in their volume; none where they predate keys.
func (w *world) mountedKey(server string) statekey.Key {
	GinkgoHelper()
	for _, v := range w.deployment(server).Spec.Template.Spec.Volumes {
		if v.Name != "toolgate-state-key" {
			continue
		}
		var secret corev1.Secret
		Expect(kubectl.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: v.Secret.SecretName}, &secret)).To(Succeed())
		key, err := statekey.Parse(secret.Data[statekey.FileName])
		Expect(err).NotTo(HaveOccurred())
		return key
	}
	return statekey.Key{}
}

// waitingPod is a pod of a server that waits for its volumes.
func (w *world) waitingPod(server string) {
	GinkgoHelper()
	var sets appsv1.ReplicaSetList
	Expect(kubectl.List(w.ctx, &sets, client.InNamespace(w.namespace))).To(Succeed())
	template := w.deployment(server).Spec.Template
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.namespace, Name: server + "-waits", Labels: template.Labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(&sets.Items[0], appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))},
		},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: render.ContainerServer, Image: "example.com/files:1"}},
			Volumes:    template.Spec.Volumes,
		},
	}
	w.create(pod)
	pod.Status.Phase = corev1.PodPending
	pod.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodReadyToStartContainers, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(w.clock.Now()),
	}}
	Expect(kubectl.Status().Update(w.ctx, pod)).To(Succeed())
}
