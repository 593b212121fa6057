// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controllers keeps the cluster as the three kinds say: it gathers, asks package decide, and writes.
//
// Only it and the packages below it hold a client: gather and reads read with it, writes writes, gauges count, kubelet touches pods,
// keyring makes keys. Each object has one writer here (docs/architecture.md, "Who writes what"):
//
//	ServerReconciler     children of an MCPServer, and its status
//	DiscoveryReconciler  who is polled; MCPTools and their status
//	RegistryReconciler   <server>.registry, and the touch that makes kubelets read it
//	IndexReconciler      mcp-registry of a namespace
//	RuleSetReconciler    the status of a RuleSet
//
// The packages below, what each owns, and what it must not import; a client is controller-runtime, net/http and prober. depguard
// enforces that (.golangci.yml), and hack/verify-packages.sh that every package has its row here.
//
//	package           owns                                                                      must not import
//	applied           what the caches keep of a child, and the mark of what we applied          controllers, a client
//	decide            what is true: conditions, reasons, words, which pod serves                controllers, a client
//	decide/admission  which definition of a tool is served                                      controllers, a client
//	gather            what is read: caches, indexes, the objects that decisions are made of     controllers
//	gauges            the manager's own metrics                                                 all of ours but api
//	keyring           keys that dispatchers prove their answers with, and their Secrets         controllers
//	kubelet           that kubelets see a new document at once                                  controllers
//	leadership        who of several managers acts                                              all of ours
//	library           what reconcilers share: what is costly to compute, and how writes ended    controllers, a client
//	polled            which pod is asked, and what is known of it                               controllers, a client
//	prober            when a pod is asked, and its last answer                                  controllers
//	process           how a manager runs: caches, election, addresses, its end                  nothing: it stands above controllers
//	reads             how long a read waits for the cache                                       controllers
//	recorder          how many events are remembered                                            controllers
//	retry             how soon what failed is tried again                                       controllers
//	triggers          what makes which reconciler look, and when                                controllers
//	waves             whose pods a new release restarts, and when                               controllers, a client
//	writes            children and MCPTools by server-side apply, deletes, statuses, events     controllers
//
// What is rendered is in internal/render. What is only ever listed needs no get; what is read by its name does, for a cache may be late (controllers/reads).
//
// +kubebuilder:rbac:groups=mcp.toolgate.dev,resources=mcpservers;rulesets,verbs=get;list;watch
// +kubebuilder:rbac:groups=mcp.toolgate.dev,resources=mcptools,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=mcp.toolgate.dev,resources=mcpservers/status;mcptools/status;rulesets/status,verbs=update
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups=apps,resources=replicasets,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=services;serviceaccounts;configmaps,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=networking.k8s.io,resources=networkpolicies,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=secrets,verbs=create
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch;patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
package controllers
