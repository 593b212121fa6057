// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package workload_test

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"toolgate.dev/toolgate/internal/render/rendertest"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/render"
	"toolgate.dev/toolgate/internal/render/workload"
)

func policyOf(t *testing.T, s *mcpv1alpha1.MCPServer) networkingv1.NetworkPolicySpec {
	t.Helper()
	data, err := json.Marshal(rendertest.Must(workload.NetworkPolicy(s, platform)))
	if err != nil {
		t.Fatal(err)
	}
	var p networkingv1.NetworkPolicy
	if err := json.Unmarshal(data, &p); err != nil {
		t.Fatal(err)
	}
	return p.Spec
}

// reaches says whether some rule leads to an address outside of the cluster, at a port.
func reaches(p networkingv1.NetworkPolicySpec, address string, port int) bool {
	if !slices.Contains(p.PolicyTypes, networkingv1.PolicyTypeEgress) {
		return true
	}
	at := netip.MustParseAddr(address)
	return slices.ContainsFunc(p.Egress, func(r networkingv1.NetworkPolicyEgressRule) bool {
		open := len(r.Ports) == 0 || slices.ContainsFunc(r.Ports, func(n networkingv1.NetworkPolicyPort) bool { return n.Port.IntValue() == port })
		return open && (len(r.To) == 0 || slices.ContainsFunc(r.To, func(peer networkingv1.NetworkPolicyPeer) bool { return holds(peer.IPBlock, at) }))
	})
}

func holds(b *networkingv1.IPBlock, at netip.Addr) bool {
	return b != nil && netip.MustParsePrefix(b.CIDR).Contains(at) &&
		!slices.ContainsFunc(b.Except, func(e string) bool { return netip.MustParsePrefix(e).Contains(at) })
}

// namespaces are those to which some rule leads by name.
func namespaces(p networkingv1.NetworkPolicySpec) []string {
	var out []string
	for _, r := range p.Egress {
		for _, to := range r.To {
			if to.NamespaceSelector != nil {
				out = append(out, to.NamespaceSelector.MatchLabels["kubernetes.io/metadata.name"])
			}
		}
	}
	return out
}

func TestEgressReachesWhatItSays(t *testing.T) {
	with := func(n mcpv1alpha1.Network) *mcpv1alpha1.MCPServer {
		s := rendertest.Stdio()
		s.Spec.Network = n
		return s
	}
	at := func(url string) *mcpv1alpha1.MCPServer {
		s := rendertest.Remote()
		s.Spec.Remote.URL = url
		return s
	}
	list := mcpv1alpha1.Network{Egress: mcpv1alpha1.EgressList, EgressTo: []mcpv1alpha1.EgressPeer{{CIDR: "203.0.113.7/32", Ports: []int32{443}}}}
	for name, tc := range map[string]struct {
		server *mcpv1alpha1.MCPServer
		to     string
		port   int
		want   bool
	}{
		"the Internet by default":                                {rendertest.Stdio(), "93.184.216.34", 443, true},
		"the Internet of version 6":                              {rendertest.Stdio(), "2606:2800:220:1::1", 443, true},
		"pods by default":                                        {rendertest.Stdio(), "10.244.0.7", 80, false},
		"private networks by default":                            {rendertest.Stdio(), "192.168.1.1", 80, false},
		"carriers' networks, where some clusters have pods":      {rendertest.Stdio(), "100.64.0.1", 80, false},
		"the metadata of clouds by default":                      {rendertest.Stdio(), "169.254.169.254", 80, false},
		"local networks of version 6":                            {rendertest.Stdio(), "fd00::1", 80, false},
		"DNS servers of others (mcp-hangar O56: port 53 to any)": {with(mcpv1alpha1.Network{Egress: mcpv1alpha1.EgressDNSOnly}), "8.8.8.8", 53, false},
		"the Internet with DNSOnly":                              {with(mcpv1alpha1.Network{Egress: mcpv1alpha1.EgressDNSOnly}), "93.184.216.34", 443, false},
		"pods with Open":                                         {with(mcpv1alpha1.Network{Egress: mcpv1alpha1.EgressOpen}), "10.244.0.7", 80, true},
		"what a list names":                                      {with(list), "203.0.113.7", 443, true},
		"another port of it (mcp-hangar O7: its port of any)":    {with(list), "203.0.113.7", 80, false},
		"that port of another":                                   {with(list), "203.0.113.8", 443, false},
		"a remote server at a private address":                   {at("https://10.1.2.3:8443/mcp"), "10.1.2.3", 8443, true},
		"other ports of it":                                      {at("https://10.1.2.3:8443/mcp"), "10.1.2.3", 443, false},
		"a remote server of version 6":                           {at("http://[fd00::5]/mcp"), "fd00::5", 80, true},
		"metadata of clouds in the name of a remote server":      {at("http://169.254.169.254/"), "169.254.169.254", 80, false},
		"the same, written as version 6":                         {at("http://[::ffff:169.254.169.254]/"), "169.254.169.254", 80, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := reaches(policyOf(t, tc.server), tc.to, tc.port); got != tc.want {
				t.Errorf("reaches %s:%d: %v, want %v", tc.to, tc.port, got, tc.want)
			}
		})
	}
}

func TestNamesOfTheClusterAreReached(t *testing.T) {
	for host, want := range map[string]string{
		"web": "ns", "web.apps": "", "example.com": "", "example.com.": "", "web.apps.svc": "apps", "web.apps.svc.cluster.local": "apps", "web.apps.svc.example.org": "apps",
		"mcp.example.com": "",
	} {
		t.Run(host, func(t *testing.T) {
			s := rendertest.Remote()
			s.Spec.Remote.URL, s.Spec.Network.Egress = fmt.Sprintf("http://%s:8080/mcp", host), mcpv1alpha1.EgressDNSOnly
			got := slices.DeleteFunc(namespaces(policyOf(t, s)), func(n string) bool { return n == "kube-system" || n == "openshift-dns" })
			if strings.Join(got, ",") != want {
				t.Errorf("opens %q, want %q", got, want)
			}
			collector := rendertest.Stdio()
			collector.Spec.Telemetry.OTLPEndpoint = fmt.Sprintf("http://%s:4318", host)
			if got := namespaces(policyOf(t, collector)); want != "" && !slices.Contains(got, want) {
				t.Errorf("spans don't reach %s: %q", host, got)
			}
		})
	}
}

// TestHostsThatNoPolicyCanNameAreTold: a pod is cut off from them where egress does not lead there, and somebody has to say so.
func TestHostsThatNoPolicyCanNameAreTold(t *testing.T) {
	list := func(to ...mcpv1alpha1.EgressPeer) mcpv1alpha1.Network {
		return mcpv1alpha1.Network{Egress: mcpv1alpha1.EgressList, EgressTo: to}
	}
	only := mcpv1alpha1.Network{Egress: mcpv1alpha1.EgressDNSOnly}
	pods := mcpv1alpha1.EgressPeer{PodSelector: &mcpv1alpha1.LabelSelector{}}
	for name, tc := range map[string]struct {
		url     string
		network mcpv1alpha1.Network
		want    []string
	}{
		"a public host by default":                  {"https://mcp.example.com/mcp", mcpv1alpha1.Network{}, nil},
		"a public host of two labels by default":    {"https://example.com/mcp", mcpv1alpha1.Network{}, nil},
		"a Service without .svc, taken for public":  {"http://web.apps:8080/mcp", mcpv1alpha1.Network{}, []string{"public host", "web.apps.svc"}},
		"a Service of another namespace":            {"http://web.apps.svc/mcp", only, nil},
		"a Service of this namespace":               {"http://web/mcp", only, nil},
		"an address":                                {"http://10.1.2.3/mcp", only, nil},
		"everything is open":                        {"http://web.apps/mcp", mcpv1alpha1.Network{Egress: mcpv1alpha1.EgressOpen}, nil},
		"a public host with DNSOnly":                {"https://mcp.example.com/mcp", only, []string{"spec.remote.url is not reached", "mcp.example.com", "DNSOnly", "spec.network.egressTo"}},
		"two labels with DNSOnly":                   {"http://web.apps/mcp", only, []string{"not reached", "web.apps.svc"}},
		"a public host and a list of pods":          {"https://mcp.example.com/mcp", list(pods), []string{"spec.network.egressTo", "cidr"}},
		"a Service without .svc and a list of pods": {"http://web.apps/mcp", list(pods), nil},
		"a public host and a list of addresses":     {"https://mcp.example.com/mcp", list(mcpv1alpha1.EgressPeer{CIDR: "203.0.113.7/32"}), nil},
		"the metadata of a cloud":                   {"http://169.254.169.254/mcp", mcpv1alpha1.Network{}, []string{"link-local"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := rendertest.Remote()
			s.Spec.Remote.URL, s.Spec.Network, s.Spec.Telemetry.OTLPEndpoint = tc.url, tc.network, ""
			got := workload.Unreached(s)
			if (got == "") != (len(tc.want) == 0) {
				t.Fatalf("says %q", got)
			}
			for _, want := range tc.want {
				if !strings.Contains(got, want) {
					t.Errorf("%q does not say %q", got, want)
				}
			}
			collector := rendertest.Stdio()
			collector.Spec.Network, collector.Spec.Telemetry.OTLPEndpoint = tc.network, tc.url
			if of := workload.Unreached(collector); of != strings.ReplaceAll(got, "spec.remote.url", "spec.telemetry.otlpEndpoint") {
				t.Errorf("of a collector it says %q", of)
			}
		})
	}
}

// TestAddedVolumesAreBounded: without a limit a server could fill its node's disk.
func TestAddedVolumesAreBounded(t *testing.T) {
	for name, s := range rendertest.Servers() {
		d, err := workload.Deployment(s, platform, workload.Live{})
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range d.Spec.Template.Spec.Volumes {
			if strings.HasPrefix(*v.Name, "toolgate-") && v.EmptyDir != nil && (v.EmptyDir.SizeLimit == nil || v.EmptyDir.SizeLimit.IsZero()) {
				t.Errorf("%s: volume %s has no limit", name, *v.Name)
			}
		}
	}
}

// TestNoRuleIsForEverybody holds for every server of these tests: in Kubernetes, a rule without peers means everybody.
func TestNoRuleIsForEverybody(t *testing.T) {
	for name, s := range rendertest.Servers() {
		p := policyOf(t, s)
		for _, r := range p.Egress {
			if len(r.To) == 0 {
				t.Errorf("%s: an egress rule without peers: %v", name, r)
			}
		}
		for _, r := range p.Ingress {
			if len(r.From) == 0 && r.Ports[0].Port.IntValue() != render.PortProbe {
				t.Errorf("%s: port %s is open to everybody", name, r.Ports[0].Port)
			}
			if len(r.Ports) != 1 {
				t.Errorf("%s: %d ports in one rule", name, len(r.Ports))
			}
		}
	}
	s := rendertest.Stdio()
	s.Spec.Network.IngressFrom = []mcpv1alpha1.NetworkPeer{{}}
	if _, err := workload.NetworkPolicy(s, platform); err == nil {
		t.Error("a peer that names nobody is rendered")
	}
}

func TestScrapersReachTheMetricsAlone(t *testing.T) {
	s := rendertest.Stdio()
	s.Spec.Network.MetricsFrom = []mcpv1alpha1.NetworkPeer{{NamespaceSelector: &mcpv1alpha1.LabelSelector{MatchLabels: map[string]mcpv1alpha1.LabelValue{"team": "monitoring"}}}}
	for _, r := range policyOf(t, s).Ingress {
		for _, from := range r.From {
			theirs := from.NamespaceSelector != nil && from.NamespaceSelector.MatchLabels["team"] == "monitoring"
			if port := r.Ports[0].Port.IntValue(); theirs != (port == render.PortMetrics) {
				t.Errorf("port %d is open to %v", port, from)
			}
		}
	}
}

// TestThePolicyHoldsPodsInServiceAndOut: a pod without the label of its Service is one that somebody debugs.
func TestThePolicyHoldsPodsInServiceAndOut(t *testing.T) {
	for kind, s := range rendertest.Servers() {
		deployment := rendertest.Must(workload.Deployment(s, platform, workload.Live{StateKey: "0123456789"}))
		pod := labels.Set(deployment.Spec.Template.Labels)
		other := s.DeepCopy()
		other.Name = s.Name + "-2"
		for _, in := range []string{"in service", "out of it"} {
			if in != "in service" {
				delete(pod, render.LabelServer)
			}
			if !selects(t, policyOf(t, s).PodSelector, pod) {
				t.Errorf("%s: the policy does not hold a pod %s, of labels %v", kind, in, pod)
			}
			if selects(t, policyOf(t, other).PodSelector, pod) {
				t.Errorf("%s: the policy of another server holds a pod %s", kind, in)
			}
			other.Spec.Network.IngressFrom = nil
			for _, from := range policyOf(t, other).Ingress[0].From {
				if selects(t, *from.PodSelector, pod) {
					t.Errorf("%s: a pod %s is a client of another server", kind, in)
				}
			}
		}
	}
}

func selects(t *testing.T, selector metav1.LabelSelector, pod labels.Set) bool {
	t.Helper()
	return rendertest.Must(metav1.LabelSelectorAsSelector(&selector)).Matches(pod)
}
