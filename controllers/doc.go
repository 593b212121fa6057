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
// When they look is in controllers/triggers, what is rendered is in internal/render, what is true is in controllers/decide, who is asked is in controllers/prober, what is
// remembered is in controllers/library, what proves who answered is in controllers/keyring.
//
// What is only ever listed needs no get; what is read by its name does, for a cache may be late (controllers/reads).
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
