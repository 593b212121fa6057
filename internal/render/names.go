// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
)

// FieldOwner is the one field manager of everything that Toolgate applies, but for a number of pods that it hands over.
const FieldOwner = "toolgate"

// FieldOwnerScaling keeps the number of pods in a Deployment from the moment in which FieldOwner lets it go until an
// autoscaler takes it up. A field that nobody owns is taken out, and the API server would put its default there: one pod.
const FieldOwnerScaling = "toolgate-scaling"

// Labels and annotations.
const (
	LabelManagedBy = "app.kubernetes.io/managed-by"
	LabelName      = "app.kubernetes.io/name"
	LabelComponent = "app.kubernetes.io/component"

	// LabelServer is on every child of a server, and selects its pods.
	LabelServer = "mcp.toolgate.dev/server"
	// LabelRevision is on pods: the revision that their server runs.
	LabelRevision = "mcp.toolgate.dev/revision"
	// AnnotationRegistryDigest is on pods. The manager changes it so that the kubelet looks at the mounted document at once;
	// nobody reads its value.
	AnnotationRegistryDigest = "mcp.toolgate.dev/registry-digest"

	// AnnotationReferences is on pods that were started anew because the content of a ConfigMap or Secret had changed: what
	// a dispatcher said of it, which means nothing by itself.
	AnnotationReferences = "mcp.toolgate.dev/references"

	// AnnotationPodInputs and AnnotationPodTemplate are on Deployments: what of the spec their template was made of, and the digest
	// of the template, so that what a new release alone changes can be told from all else.
	AnnotationPodInputs   = "mcp.toolgate.dev/pod-inputs"
	AnnotationPodTemplate = "mcp.toolgate.dev/pod-template"
	// AnnotationUpgrade is on Deployments whose last template came with a release and whose pods are waited for.
	AnnotationUpgrade = "mcp.toolgate.dev/upgrade"

	// ManagedBy is the value of LabelManagedBy on everything that Toolgate writes; informers select by it.
	ManagedBy       = "toolgate"
	componentServer = "mcp-server"
	componentIndex  = "mcp-registry"
)

// IndexName is the ConfigMap of a namespace that people and clients read.
const IndexName = "mcp-registry"

// IndexKey is the key of the index in its ConfigMap.
const IndexKey = "index.json"

// Names of containers.
const (
	ContainerDispatcher = "dispatcher"
	ContainerServer     = "server"
	// ContainerInstall brings the dispatcher to where the image of a stdio server can run it; no other server has it.
	ContainerInstall = "install"
)

// Ports of the dispatcher. Containers of a pod share them, so they are uncommon ones.
const (
	PortMCP   = 7310
	PortAdmin = 7311
	PortProbe = 7312
	// PortMetrics has the metrics alone, so that whoever may scrape can neither read the state nor drain.
	PortMetrics = 7313
)

// RegistryName is the ConfigMap that holds a server's document, or its root. The dot keeps it from ever being the name of a server.
func RegistryName(server string) string { return server + ".registry" }

// ShardName is the ConfigMap of one shard of a server's document: files.registry-3 holds shard-3.json.gz.
func ShardName(server, file string) string {
	shard, _, _ := strings.Cut(strings.TrimPrefix(file, "shard-"), ".")
	return RegistryName(server) + "-" + shard
}

// PeersName is the headless Service by which the replicas of a server find each other. Admission keeps servers from having
// such names.
func PeersName(server string) string {
	const suffix, most = "-peers", 63 // RFC 1035, section 2.3.4
	if len(server)+len(suffix) <= most {
		return server + suffix
	}
	digest := sha256.Sum256([]byte(server))
	short := "-" + hex.EncodeToString(digest[:4])
	return server[:most-len(suffix)-len(short)] + short + suffix
}

// Labels are on every child of a server.
func Labels(server string) map[string]string {
	return map[string]string{
		LabelManagedBy: ManagedBy,
		LabelName:      server,
		LabelComponent: componentServer,
		LabelServer:    server,
	}
}

// IndexLabels are on the index of a namespace.
func IndexLabels() map[string]string {
	return map[string]string{LabelManagedBy: ManagedBy, LabelComponent: componentIndex}
}

// PodSelector selects the pods of a server, in the Deployment and the Service alike. A Deployment's selector can't be changed,
// so it holds nothing that a spec can change.
func PodSelector(server string) map[string]string {
	return map[string]string{LabelServer: server}
}

// GuardSelector selects the pods of a server in its NetworkPolicy: also those that a person has taken out of service, to debug
// them, by taking LabelServer off. These labels can't be taken off (config/admission/pods.yaml).
func GuardSelector(server string) map[string]string {
	return map[string]string{LabelManagedBy: ManagedBy, LabelName: server, LabelComponent: componentServer}
}

// URL is where clients in the cluster reach a server. It leaves out the cluster's domain, which can't be seen from the API.
func URL(s *mcpv1alpha1.MCPServer) string {
	host := fmt.Sprintf("%s.%s.svc", s.Name, s.Namespace)
	if port := ServicePort(s); port != mcpv1alpha1.DefaultServicePort {
		return fmt.Sprintf("http://%s:%d/mcp", host, port)
	}
	return "http://" + host + "/mcp"
}
