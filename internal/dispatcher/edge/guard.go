// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package edge owns what every HTTP request of a client must pass before it is read: Host, Origin, media types and size.
// The MCP and the REST face share it.
//
// It decides nothing about messages and never imports Kubernetes, the API, or the packages that talk to servers.
package edge

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	"toolgate.dev/toolgate/internal/dispatcher/policy"
	"toolgate.dev/toolgate/internal/registry"
)

// Guard refuses requests whose Host or Origin is not ours: a web page that a person visits could otherwise reach a
// dispatcher through the person's browser, with its own name resolved to our address (DNS rebinding; MCP, Transports,
// Security Warning).
type Guard struct {
	// Document is the one in force, nil while there is none: it names the server and its URL.
	Document func() *registry.Document
	// Hosts are names that are allowed beside the server's own, without port; Origins are whole origins.
	Hosts, Origins []string

	// last is the Host header that was let in last, of those that no document decides about: a client sends the same one in
	// every request.
	last atomic.Pointer[string]
}

// Check says why a request is not let in, nil if it is.
func (g *Guard) Check(r *http.Request) *policy.Refusal {
	if last := g.last.Load(); last == nil || *last != r.Host {
		host := hostname(r.Host)
		switch {
		case isAddress(host) || g.always(host):
			sent := r.Host // of its own: a pointer into the request would keep all of it
			g.last.Store(&sent)
		case !g.allowed(host):
			return notAllowed("Host", r.Host, "--allow-host")
		}
	}
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return nil
	}
	if len(origins) > 1 || !g.allowedOrigin(origins[0], r.Host) {
		return notAllowed("Origin", strings.Join(origins, ", "), "--allow-origin")
	}
	return nil
}

func notAllowed(header, value, flag string) *policy.Refusal {
	return &policy.Refusal{Kind: policy.NotAllowed, Stage: policy.StageLimits, Reason: header + "NotAllowed", Message: fmt.Sprintf(
		"%s %q is not allowed here. The server's own names and loopback are; spec.service.hosts of the MCPServer names others by which clients reach it, at a desk %s of the dispatcher.", header, value, flag)}
}

// allowed says whether a name, or an address of loopback, is one of ours.
func (g *Guard) allowed(host string) bool {
	if g.always(host) {
		return true
	}
	doc := g.Document()
	if doc == nil {
		return false
	}
	if u, err := url.Parse(doc.Server.URL); err == nil && u.Hostname() != "" && strings.EqualFold(u.Hostname(), host) {
		return true
	}
	return slices.Contains(serviceNames(doc.Server), host)
}

// always says whether a host is one of ours whatever the document says.
func (g *Guard) always(host string) bool {
	return host == "localhost" || isLoopback(host) || slices.Contains(g.Hosts, host)
}

// serviceNames are those that cluster DNS gives the server's Service. Another cluster domain is one of Hosts: a name
// that only begins like ours may belong to anybody.
func serviceNames(s registry.Server) []string {
	if s.Name == "" {
		return nil
	}
	names := []string{s.Name}
	if s.Namespace != "" {
		full := s.Name + "." + s.Namespace
		names = append(names, full, full+".svc", full+".svc.cluster.local")
	}
	return names
}

// allowedOrigin takes the origin of one of our hosts, or the origin that the request goes to itself.
func (g *Guard) allowedOrigin(origin, host string) bool {
	if slices.Contains(g.Origins, origin) {
		return true
	}
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return false // this includes "null"
	}
	return g.allowed(strings.ToLower(u.Hostname())) || strings.EqualFold(u.Host, host)
}

// hostname is the Host header without port and brackets, in lower case and without a final dot.
func hostname(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return strings.TrimSuffix(strings.ToLower(strings.Trim(host, "[]")), ".")
}

// isAddress says whether a host is an IP address: no DNS name was resolved to reach us, so none can have been rebound.
func isAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

func isLoopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback()
}

// Header gives all values of a header as one, as RFC 9110, section 5.3, joins them. Of a header that stands twice some
// readers take the first value and others the last; the joined one is neither, so that it is refused where one is wanted.
func Header(h http.Header, name string) string {
	values := h.Values(name)
	if len(values) == 1 {
		return values[0]
	}
	return strings.Join(values, ", ")
}

// Address is the address of the peer, without port: what an anonymous caller's limits count by.
func Address(r *http.Request) string {
	if address, ok := ipv4(r.RemoteAddr); ok {
		return address
	}
	if a, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		return a.Addr().Unmap().String()
	}
	return r.RemoteAddr
}

// ipv4 cuts the port off an IPv4 address as the net package writes one, which needs no memory: it is done for every request.
func ipv4(remote string) (string, bool) {
	for i := range len(remote) {
		switch c := remote[i]; {
		case c == ':':
			return remote[:i], true
		case c != '.' && (c < '0' || c > '9'):
			return "", false
		}
	}
	return "", false
}
