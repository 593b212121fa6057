// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"
)

// named is the way to a URL that the spec names, as far as a NetworkPolicy can say it; nil where egress Internet says it, or
// nothing can. An address is one peer with one port. A name of the cluster's own (web, web.apps, web.apps.svc, ...) leads to a
// Service, of which neither the pods nor their port can be seen from its name: it opens that namespace. A public name may look
// like a short one of the cluster; that opens a namespace that is not there.
func named(target, namespace string) *networkingv1ac.NetworkPolicyEgressRuleApplyConfiguration {
	u, err := url.Parse(target)
	if target == "" || err != nil {
		return nil
	}
	if address, err := netip.ParseAddr(u.Hostname()); err == nil {
		return toAddress(address.Unmap(), u)
	}
	labels := strings.Split(strings.TrimSuffix(u.Hostname(), "."), ".")
	switch {
	case len(labels) == 1:
		return egressRule(nil, inNamespace(namespace))
	case len(labels) == 2, labels[2] == "svc":
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
