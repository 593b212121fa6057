// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"net/url"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/registry"
)

// Disabled says whether the server is out of service.
func Disabled(s *mcpv1alpha1.MCPServer) bool { return s.Spec.State == mcpv1alpha1.StateDisabled }

// Transport is how the dispatcher speaks to the server.
func Transport(s *mcpv1alpha1.MCPServer) mcpv1alpha1.TransportType {
	return s.Spec.Effective().Transport.Type
}

// Pinning says who admits definitions.
func Pinning(s *mcpv1alpha1.MCPServer) mcpv1alpha1.Pinning {
	return s.Spec.Effective().Discovery.Pinning
}

// Automatic says whether what is pinned automatically is admitted. With Manual and Off it is remembered, and counts for nothing.
func Automatic(s *mcpv1alpha1.MCPServer) bool {
	pinning := Pinning(s)
	return pinning == mcpv1alpha1.PinningPerRevision || pinning == mcpv1alpha1.PinningStrict
}

// ServicePort is where clients reach the server.
func ServicePort(s *mcpv1alpha1.MCPServer) int32 {
	return *s.Spec.Effective().Service.Port
}

// Endpoint is where a server in the pod listens.
func Endpoint(s *mcpv1alpha1.MCPServer) (port int32, path string) {
	t := s.Spec.Effective().Transport
	return ptr.Deref(t.Port, mcpv1alpha1.DefaultPort), t.Path
}

// Invalid says why the spec can't be rendered, in words for its author; "" means that it can. Admission refuses all of
// this; an object that is older than the rule still deserves an answer.
func Invalid(s *mcpv1alpha1.MCPServer) string {
	switch {
	case s.Spec.Container == nil && s.Spec.Remote == nil:
		return "set spec.container (a server that Toolgate runs) or spec.remote (one that runs elsewhere)"
	case s.Spec.Container != nil && s.Spec.Remote != nil:
		return "set only one of spec.container and spec.remote"
	case namesNobody(&s.Spec.Network):
		return "spec.network: each peer needs a cidr, or namespaceSelector or podSelector; one without would mean everybody"
	case s.Spec.Remote != nil:
		return invalidURL(s.Spec.Remote.URL)
	case s.Spec.Container.Image == "":
		return "spec.container.image is empty; name the server's image"
	}
	switch Transport(s) {
	case mcpv1alpha1.TransportStdio:
		if len(s.Spec.Container.Command) == 0 {
			return "spec.container.command is empty; a stdio server must name its command, because the image's own entrypoint can't be seen from the API"
		}
	case mcpv1alpha1.TransportStreamableHTTP, mcpv1alpha1.TransportSSE, mcpv1alpha1.TransportWebSocket:
		if port, _ := Endpoint(s); port >= PortMCP && port <= PortMetrics {
			return fmt.Sprintf("spec.transport.port %d is one of the dispatcher's own (%d to %d); let the server listen elsewhere", port, PortMCP, PortMetrics)
		}
	default:
		return fmt.Sprintf("spec.transport.type %q is not one of %s", s.Spec.Transport.Type, registry.Transports())
	}
	return invalidSizes(s.Spec.Pod.Volumes)
}

// namesNobody says whether some peer is without a name.
func namesNobody(n *mcpv1alpha1.Network) bool {
	peers := slices.Concat(n.IngressFrom, n.MetricsFrom)
	for _, to := range n.EgressTo {
		peers = append(peers, mcpv1alpha1.NetworkPeer{NamespaceSelector: to.NamespaceSelector, PodSelector: to.PodSelector, CIDR: to.CIDR})
	}
	return slices.ContainsFunc(peers, func(p mcpv1alpha1.NetworkPeer) bool {
		return p.CIDR == "" && p.NamespaceSelector == nil && p.PodSelector == nil
	})
}

func invalidURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return fmt.Sprintf("spec.remote.url %q is not an http or https URL, such as https://mcp.example.com/mcp", raw)
	}
	return ""
}

// invalidSizes is asked by Invalid before anything is rendered.
func invalidSizes(volumes []mcpv1alpha1.Volume) string {
	for i, v := range volumes {
		var field, size string
		switch {
		case v.EmptyDir != nil && v.EmptyDir.SizeLimit != "":
			field, size = "emptyDir.sizeLimit", v.EmptyDir.SizeLimit
		case v.Ephemeral != nil:
			field, size = "ephemeral.size", v.Ephemeral.Size
		default:
			continue
		}
		if _, err := resource.ParseQuantity(size); err != nil {
			return fmt.Sprintf("spec.pod.volumes[%d].%s %q is not a quantity, such as 64Mi", i, field, size)
		}
	}
	return ""
}
