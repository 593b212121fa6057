// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package admission proves what a real API server makes of the CRDs in config/crd and of the objects that people write: each
// file in testdata is one object, accepted, or refused with this message.
//
// What holds here holds without the manager: beside api/v1alpha1 it imports only pure packages, with whose names, reasons and
// refusals the CRDs must agree.
package admission

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"toolgate.dev/toolgate/api/v1alpha1"
)

const (
	root     = "../.."
	crds     = root + "/config/crd/bases"
	samples  = root + "/config/samples"
	policies = root + "/config/admission"
)

// server is the API server that the tests of this package share; nil where there are no binaries for one.
var server *apiServer

type apiServer struct {
	client     client.Client
	config     *rest.Config
	kubectl    string
	kubeconfig string
}

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		return m.Run()
	}
	ctrl.SetLogger(logr.Discard())
	env := &envtest.Environment{}
	dir, err := os.MkdirTemp("", "admission")
	if err != nil {
		fmt.Fprintln(os.Stderr, "making a folder for the kubeconfig:", err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	defer func() { _ = env.Stop() }() // also of what came up before something else did not
	if server, err = start(env, dir); err != nil {
		fmt.Fprintln(os.Stderr, "starting the API server:", err)
		return 1
	}
	return m.Run()
}

// start starts an API server, installs the CRDs with kubectl as a person would, and returns a client that refuses fields
// which the CRDs do not know.
func start(env *envtest.Environment, dir string) (*apiServer, error) {
	s, err := startEmpty(env, dir)
	if err != nil {
		return nil, err
	}
	return s, s.installCRDs(crds)
}

// another starts an API server of a test's own, without CRDs.
func another(t *testing.T) *apiServer {
	t.Helper()
	env := &envtest.Environment{}
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Error(err)
		}
	})
	s, err := startEmpty(env, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// applyCRDs is installCRDs, or the end of the test.
func (s *apiServer) applyCRDs(t *testing.T, folder string) {
	t.Helper()
	if err := s.installCRDs(folder); err != nil {
		t.Fatal(err)
	}
}

// installCRDs applies CRDs with kubectl, and waits until they are served.
func (s *apiServer) installCRDs(folder string) error {
	if out, err := s.run("apply", "-f", folder); err != nil {
		return fmt.Errorf("kubectl apply -f %s: %w\n%s", folder, err, out)
	}
	if out, err := s.run("wait", "--for=condition=Established", "--timeout=30s", "-f", folder); err != nil {
		return fmt.Errorf("waiting for the CRDs: %w\n%s", err, out)
	}
	// Established is said a moment before discovery and the schemas have them.
	return wait.PollUntilContextTimeout(context.Background(), 100*time.Millisecond, 30*time.Second, true, func(context.Context) (bool, error) {
		_, err := s.run("explain", "mcpservers")
		return err == nil, nil
	})
}

func startEmpty(env *envtest.Environment, dir string) (*apiServer, error) {
	cfg, err := env.Start()
	if err != nil {
		return nil, err
	}
	user, err := env.AddUser(envtest.User{Name: "person", Groups: []string{"system:masters"}}, cfg)
	if err != nil {
		return nil, fmt.Errorf("adding a user: %w", err)
	}
	data, err := user.KubeConfig()
	if err != nil {
		return nil, fmt.Errorf("making a kubeconfig: %w", err)
	}
	s := &apiServer{
		config:     cfg,
		kubectl:    filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kubectl"),
		kubeconfig: filepath.Join(dir, "kubeconfig"),
	}
	if err := os.WriteFile(s.kubeconfig, data, 0o600); err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, clientgoscheme.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	c, err := client.New(cfg, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	s.client = client.WithFieldValidation(c, metav1.FieldValidationStrict)
	return s, nil
}

// run runs kubectl and returns all that it wrote.
func (s *apiServer) run(args ...string) (string, error) {
	cmd := exec.Command(s.kubectl, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+s.kubeconfig)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// need skips a test where there is no API server.
func need(t *testing.T) *apiServer {
	t.Helper()
	if server == nil {
		t.Skip("KUBEBUILDER_ASSETS is not set; make test sets it to a folder with kube-apiserver, etcd and kubectl")
	}
	return server
}
