// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
)

// How long something that happens at once may take on a loaded machine.
const (
	soon = 20 * time.Second
	tick = 20 * time.Millisecond
)

var (
	config *rest.Config
	scheme = runtime.NewScheme()
	// kubectl is a person: it writes past every cache and under another field owner than ours.
	kubectl client.Client
)

func TestControllers(t *testing.T) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Skip("KUBEBUILDER_ASSETS is not set: `make test` builds an API server and sets it")
	}
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(soon)
	SetDefaultEventuallyPollingInterval(tick)
	RunSpecs(t, "controllers")
}

var _ = BeforeSuite(func() {
	ctrl.SetLogger(GinkgoLogr)
	Expect(clientgoscheme.AddToScheme(scheme)).To(Succeed())
	Expect(mcpv1alpha1.AddToScheme(scheme)).To(Succeed())
	env := &envtest.Environment{
		CRDDirectoryPaths:     []string{filepath.Join("..", "config", "crd", "bases")},
		ErrorIfCRDPathMissing: true,
	}
	var err error
	config, err = env.Start()
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(env.Stop)
	config.QPS = -1
	kubectl, err = client.New(config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	kubectl = client.WithFieldOwner(kubectl, "kubectl")
})

// written counts requests that change something, leaving out events, which are no state of anybody.
type written struct {
	mu   sync.Mutex
	seen []string
}

func (w *written) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		if req.Method != http.MethodGet && !strings.Contains(req.URL.Path, "/events") {
			w.mu.Lock()
			w.seen = append(w.seen, req.Method+" "+req.URL.Path)
			w.mu.Unlock()
		}
		return next.RoundTrip(req)
	})
}

func (w *written) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.seen)
}

// since are the writes after the first n.
func (w *written) since(n int) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.seen[n:]...)
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
