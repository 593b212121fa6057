// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"encoding/json"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/registry/shard"
	"toolgate.dev/toolgate/internal/render"
	"toolgate.dev/toolgate/internal/render/index"
)

// document is the encoded registry document of a server, in one piece.
func (w *world) document(server string) []byte {
	GinkgoHelper()
	return w.files(server)[registry.FileName]
}

// files are those of a server's registry document, as its pods see them.
func (w *world) files(server string) shard.Files {
	GinkgoHelper()
	var cm corev1.ConfigMap
	Expect(kubectl.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: render.RegistryName(server)}, &cm)).To(Succeed())
	files := shard.Files{}
	for name, data := range cm.Data {
		files[name] = []byte(data)
	}
	for _, name := range shard.Names() {
		var cm corev1.ConfigMap
		err := kubectl.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: render.ShardName(server, name)}, &cm)
		Expect(client.IgnoreNotFound(err)).To(Succeed())
		if err == nil {
			files[name] = cm.BinaryData[name]
		}
	}
	return files
}

func (w *world) decoded(server string) *registry.Document {
	GinkgoHelper()
	files := w.files(server)
	first, err := shard.Root(files.Load)
	Expect(err).NotTo(HaveOccurred())
	doc, err := shard.Decode(first, files.Load)
	Expect(err).NotTo(HaveOccurred())
	return doc
}

func (w *world) getServer(name string) *mcpv1alpha1.MCPServer {
	GinkgoHelper()
	s := &mcpv1alpha1.MCPServer{}
	Expect(kubectl.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, s)).To(Succeed())
	return s
}

func (w *world) getTool(name string) *mcpv1alpha1.MCPTool {
	GinkgoHelper()
	t := &mcpv1alpha1.MCPTool{}
	Expect(kubectl.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, t)).To(Succeed())
	return t
}

func (w *world) getRuleSet(name string) *mcpv1alpha1.RuleSet {
	GinkgoHelper()
	rs := &mcpv1alpha1.RuleSet{}
	Expect(kubectl.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, rs)).To(Succeed())
	return rs
}

// told are the events since it was last asked, as "Type Reason note".
func (w *world) told() []string {
	var out []string
	for {
		select {
		case event := <-w.events.Events:
			out = append(out, event)
		default:
			return out
		}
	}
}

// index are the names of the servers in the namespace's index.
func (w *world) index() []string {
	GinkgoHelper()
	var cm corev1.ConfigMap
	Expect(kubectl.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: render.IndexName}, &cm)).To(Succeed())
	var index index.Index
	Expect(json.Unmarshal([]byte(cm.Data[render.IndexKey]), &index)).To(Succeed())
	names := []string{}
	for _, s := range index.Servers {
		names = append(names, s.Name)
	}
	return names
}

// condition gives "Status/Reason" of a condition.
func condition(list []metav1.Condition, kind string) string {
	c := meta.FindStatusCondition(list, kind)
	if c == nil {
		return "absent"
	}
	return string(c.Status) + "/" + c.Reason
}

func message(list []metav1.Condition, kind string) string {
	if c := meta.FindStatusCondition(list, kind); c != nil {
		return c.Message
	}
	return ""
}
