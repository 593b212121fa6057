// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Command netpol enforces the NetworkPolicies of the development cluster on its
// node. It runs kube-router's controller for them and none of kube-router's
// others, which would bring hundreds of packages to compile.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/cloudnativelabs/kube-router/v2/pkg/controllers/netpol"
	"github.com/cloudnativelabs/kube-router/v2/pkg/healthcheck"
	"github.com/cloudnativelabs/kube-router/v2/pkg/options"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "file with the address of the API server and our credentials")
	node := flag.String("node", "", "name of this node")
	services := flag.String("service-cidr", "", "addresses of Services, as a CIDR")
	flag.Parse()
	if err := run(*kubeconfig, *node, *services); err != nil {
		fmt.Fprintln(os.Stderr, "netpol:", err)
		os.Exit(1)
	}
}

// run enforces policies until it is told to stop. It fails if the node is not
// registered yet; what was enforced before stays in force meanwhile.
func run(kubeconfig, node, services string) error {
	rest, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	client, err := kubernetes.NewForConfig(rest)
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	config := options.NewKubeRouterConfig()
	config.EnableIPv4 = true
	config.HostnameOverride = node
	config.ClusterIPCIDRs = []string{services}

	stop := make(chan struct{})
	factory := informers.NewSharedInformerFactory(client, 0)
	controller, err := newController(client, config, factory)
	if err != nil {
		return err
	}
	factory.Start(stop)
	factory.WaitForCacheSync(stop)

	heartbeats := make(chan *healthcheck.ControllerHeartbeat)
	go func() {
		for range heartbeats { // the controller waits for someone to hear it
		}
	}()
	var running sync.WaitGroup
	running.Add(1)
	go controller.Run(heartbeats, stop, &running)

	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	<-signals
	close(stop)
	running.Wait()
	return nil
}

// newController connects the controller to what it watches.
func newController(client kubernetes.Interface, config *options.KubeRouterConfig, factory informers.SharedInformerFactory) (*netpol.NetworkPolicyController, error) {
	tables, sets, err := netpol.NewIPTablesHandlers(config)
	if err != nil {
		return nil, fmt.Errorf("finding iptables and ipset: %w", err)
	}
	pods := factory.Core().V1().Pods().Informer()
	namespaces := factory.Core().V1().Namespaces().Informer()
	policies := factory.Networking().V1().NetworkPolicies().Informer()
	controller, err := netpol.NewNetworkPolicyController(client, config, pods, policies, namespaces, &sync.Mutex{}, tables, sets)
	if err != nil {
		return nil, fmt.Errorf("making the controller: %w", err)
	}
	if _, err := pods.AddEventHandler(controller.PodEventHandler); err != nil {
		return nil, fmt.Errorf("watching pods: %w", err)
	}
	if _, err := namespaces.AddEventHandler(controller.NamespaceEventHandler); err != nil {
		return nil, fmt.Errorf("watching namespaces: %w", err)
	}
	if _, err := policies.AddEventHandler(controller.NetworkPolicyEventHandler); err != nil {
		return nil, fmt.Errorf("watching policies: %w", err)
	}
	return controller, nil
}
