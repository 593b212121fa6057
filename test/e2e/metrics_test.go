//go:build e2e

// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const metricsGroupVersion = "metrics.k8s.io/v1beta1"

// serveMetrics makes this process the cluster's metrics server for a while: every pod uses as many bytes of memory.
func serveMetrics(ctx context.Context, namespace string, used *atomic.Int64) {
	GinkgoHelper()
	nodes, err := typed.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	Expect(err).NotTo(HaveOccurred())
	var address string
	for _, a := range nodes.Items[0].Status.Addresses {
		if a.Type == corev1.NodeInternalIP {
			address = a.Address
		}
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(address, "0"))
	Expect(err).NotTo(HaveOccurred())
	server := httptest.NewUnstartedServer(metrics(used))
	Expect(server.Listener.Close()).To(Succeed())
	server.Listener = listener
	server.StartTLS()
	DeferCleanup(server.Close)

	port := int32(listener.Addr().(*net.TCPAddr).Port)
	meta := metav1.ObjectMeta{Namespace: namespace, Name: "metrics"}
	Expect(kube.Create(ctx, &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "https", Port: 443}}}})).To(Succeed())
	meta.Labels = map[string]string{discoveryv1.LabelServiceName: meta.Name}
	Expect(kube.Create(ctx, &discoveryv1.EndpointSlice{
		ObjectMeta: meta, AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints: []discoveryv1.Endpoint{{Addresses: []string{address}}},
		Ports:     []discoveryv1.EndpointPort{{Name: new("https"), Port: &port}},
	})).To(Succeed())
	register(ctx, namespace)
}

// register has the API server pass requests for the group on, and waits until it does. It is taken back before the namespace goes,
// whose deletion would wait for a group that nobody answers for.
func register(ctx context.Context, namespace string) {
	GinkgoHelper()
	group, version, _ := strings.Cut(metricsGroupVersion, "/")
	service := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
		"metadata": map[string]any{"name": version + "." + group},
		"spec": map[string]any{
			"group": group, "version": version, "groupPriorityMinimum": int64(100), "versionPriority": int64(100),
			"service": map[string]any{"namespace": namespace, "name": "metrics"}, "insecureSkipTLSVerify": true,
		},
	}}
	Expect(kube.Create(ctx, service)).To(Succeed())
	DeferCleanup(func(ctx context.Context) { Expect(kube.Delete(ctx, service)).To(Succeed()) })
	Eventually(func() error {
		return typed.Discovery().RESTClient().Get().AbsPath("/apis", metricsGroupVersion, "namespaces", namespace, "pods").Do(ctx).Error()
	}).Should(Succeed())
}

// metrics answers discovery, and what pods use.
func metrics(used *atomic.Int64) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /apis/"+metricsGroupVersion, func(w http.ResponseWriter, _ *http.Request) {
		respond(w, metav1.APIResourceList{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIResourceList"}, GroupVersion: metricsGroupVersion,
			APIResources: []metav1.APIResource{{Name: "pods", Namespaced: true, Kind: "PodMetrics", Verbs: metav1.Verbs{"list"}}},
		})
	})
	mux.HandleFunc("GET /apis/"+metricsGroupVersion+"/namespaces/{namespace}/pods", func(w http.ResponseWriter, r *http.Request) {
		pods, err := typed.CoreV1().Pods(r.PathValue("namespace")).List(r.Context(), metav1.ListOptions{LabelSelector: r.URL.Query().Get("labelSelector")})
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		items := []map[string]any{}
		for i := range pods.Items {
			items = append(items, map[string]any{
				"metadata":  map[string]any{"name": pods.Items[i].Name, "namespace": pods.Items[i].Namespace},
				"timestamp": metav1.NewTime(time.Now()), "window": "10s",
				"containers": []map[string]any{{"name": "server", "usage": map[string]any{"memory": resource.NewQuantity(used.Load(), resource.BinarySI).String()}}},
			})
		}
		respond(w, map[string]any{"apiVersion": metricsGroupVersion, "kind": "PodMetricsList", "metadata": map[string]any{}, "items": items})
	})
	return mux
}

func respond(w http.ResponseWriter, what any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(what) // who has gone asks again
}
