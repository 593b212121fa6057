// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package shape

import (
	"fmt"

	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
)

// Peers are peers of a NetworkPolicy. One that names nobody is an error: in a rule it would mean everybody.
func Peers(peers []mcpv1alpha1.NetworkPeer) ([]*networkingv1ac.NetworkPolicyPeerApplyConfiguration, error) {
	var out []*networkingv1ac.NetworkPolicyPeerApplyConfiguration
	for _, p := range peers {
		ac := networkingv1ac.NetworkPolicyPeer()
		switch {
		case p.CIDR != "":
			ac.WithIPBlock(networkingv1ac.IPBlock().WithCIDR(p.CIDR))
		case p.NamespaceSelector == nil && p.PodSelector == nil:
			return nil, fmt.Errorf("spec.network: a peer has neither cidr nor namespaceSelector nor podSelector")
		}
		if p.NamespaceSelector != nil {
			if err := same(p.NamespaceSelector, &ac.NamespaceSelector); err != nil {
				return nil, fmt.Errorf("spec.network: namespaceSelector: %w", err)
			}
		}
		if p.PodSelector != nil {
			if err := same(p.PodSelector, &ac.PodSelector); err != nil {
				return nil, fmt.Errorf("spec.network: podSelector: %w", err)
			}
		}
		out = append(out, ac)
	}
	return out, nil
}
