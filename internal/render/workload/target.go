// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
)

// named is the way to a URL that the spec names, as far as a NetworkPolicy can say it; nil where egress Internet says it, or
// nothing can (Unreached). An address is one peer with one port. A name of the cluster's own (web, web.apps.svc, ...) leads to a
// Service, of which neither the pods nor their port can be seen from its name: it opens that namespace. Two labels (web.apps)
// could as well be a public host, for which no namespace may be opened.
func named(target, namespace string) *networkingv1ac.NetworkPolicyEgressRuleApplyConfiguration {
	u, err := url.Parse(target)
	if target == "" || err != nil {
		return nil
	}
	if address, err := netip.ParseAddr(u.Hostname()); err == nil {
		return toAddress(address.Unmap(), u)
	}
	labels := labelsOf(u.Hostname())
	switch {
	case len(labels) == 1:
		return egressRule(nil, inNamespace(namespace))
	case isService(labels):
		return egressRule(nil, inNamespace(labels[1]))
	default:
		return nil
	}
}

// toAddress never leads to link-local addresses, where the metadata of clouds are.
func toAddress(address netip.Addr, u *url.URL) *networkingv1ac.NetworkPolicyEgressRuleApplyConfiguration {
	if address.IsLinkLocalUnicast() || address.IsMulticast() || address.IsUnspecified() || address.Zone() != "" {
		return nil
	}
	port := int32(80)
	if u.Scheme == "https" {
		port = 443
	}
	if n, err := strconv.ParseUint(u.Port(), 10, 16); err == nil && n > 0 {
		port = int32(n)
	}
	block := networkingv1ac.IPBlock().WithCIDR(netip.PrefixFrom(address, address.BitLen()).String())
	return egressRule([]int32{port}, peer().WithIPBlock(block))
}

func labelsOf(host string) []string { return strings.Split(strings.TrimSuffix(host, "."), ".") }

// isService knows a Service by the form <service>.<namespace>.svc, which the cluster's domain may follow.
func isService(labels []string) bool { return len(labels) >= 3 && labels[2] == "svc" }

// Unreached says in words which URLs of the spec no NetworkPolicy lets through, and what would be right; "" where there are none.
func Unreached(s *mcpv1alpha1.MCPServer) string {
	var out []string
	if s.Spec.Remote != nil {
		out = append(out, unreached(s, "spec.remote.url", s.Spec.Remote.URL))
	}
	out = append(out, unreached(s, "spec.telemetry.otlpEndpoint", s.Spec.Telemetry.OTLPEndpoint))
	return strings.Join(slices.DeleteFunc(out, func(text string) bool { return text == "" }), "; ")
}

func unreached(s *mcpv1alpha1.MCPServer, field, target string) string {
	u, err := url.Parse(target)
	if target == "" || err != nil || named(target, s.Namespace) != nil {
		return ""
	}
	network := s.Spec.Effective().Network
	if _, err := netip.ParseAddr(u.Hostname()); err == nil {
		if network.Egress == mcpv1alpha1.EgressOpen {
			return ""
		}
		return fmt.Sprintf("%s is not reached: link-local and multicast addresses such as %s are opened by egress Open alone", field, u.Hostname())
	}
	return unreachedHost(network, field, u)
}

// unreachedHost is unreached of a URL that names a host that is neither an address nor a Service.
func unreachedHost(network mcpv1alpha1.Network, field string, u *url.URL) string {
	toRange := slices.ContainsFunc(network.EgressTo, func(to mcpv1alpha1.EgressPeer) bool { return to.CIDR != "" })
	toPods := slices.ContainsFunc(network.EgressTo, func(to mcpv1alpha1.EgressPeer) bool { return to.CIDR == "" })
	labels := labelsOf(u.Hostname())
	short := len(labels) == 2
	hint := ""
	if short {
		hint = fmt.Sprintf("; if it is a Service, write %s.%s.svc", labels[0], labels[1])
	}
	switch network.Egress {
	case mcpv1alpha1.EgressOpen:
		return ""
	case mcpv1alpha1.EgressInternet:
		// Public hosts are reached; only what is written as Services often are may be meant otherwise.
		if !short || u.Scheme != "http" || toPods {
			return ""
		}
		return fmt.Sprintf("%s: %s is taken for a public host%s", field, u.Hostname(), hint)
	case mcpv1alpha1.EgressList:
		if toRange || short && toPods {
			return ""
		}
		return fmt.Sprintf("%s is not reached: no NetworkPolicy can name the host %s; add its addresses to spec.network.egressTo as a cidr%s", field, u.Hostname(), hint)
	case mcpv1alpha1.EgressDNSOnly:
		return fmt.Sprintf("%s is not reached: no NetworkPolicy can name the host %s, and spec.network.egress is DNSOnly; set it to List, and "+
			"spec.network.egressTo to its addresses as a cidr%s", field, u.Hostname(), hint)
	default:
		return fmt.Sprintf("%s is not reached: spec.network.egress is %q, which is not known", field, network.Egress)
	}
}
