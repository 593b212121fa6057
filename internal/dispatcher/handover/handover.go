// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package handover lets a session live on one replica while its requests arrive at any: the session's id names the replica
// that holds it, and every other one hands the request over to it. Nothing outside of the pods has to remember anything.
//
// It owns the form of these names, who counts as a replica, and the way between them. It reads no message and decides
// nothing about one: the replica that holds the session makes every check. It never imports Kubernetes, the API, or the
// packages that talk to servers.
package handover

import (
	"context"
	"encoding/base64"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// Headers between replicas. A client's own are taken out.
const (
	// headerClient is the address of the client that a request came from.
	headerClient = "Toolgate-Client-Address"
	// headerHops marks a request that has been handed over, so that it is not handed on.
	headerHops = "Toolgate-Handed-Over"
)

// separator stands between what a tag is put behind and the tag. It is in no base64 alphabet.
const separator = "."

// dialTimeout bounds the wait for a replica that may have gone.
const dialTimeout = 2 * time.Second

// Options say who this replica is and how the others are found.
type Options struct {
	// Self is this replica's address. The zero value means that there are no others, as at a desk.
	Self netip.Addr
	// Port is the one for clients; it is the same on every replica.
	Port uint16
	// Lookup gives the addresses of all replicas, this one's too or not. A request goes nowhere else, whatever a name says.
	Lookup func(ctx context.Context) ([]netip.Addr, error)
	// Counted is told of every request that was for another replica: whether it could be handed over.
	Counted func(ok bool)
	// Flight has the messages that are under way to another replica: this one must not end before they are answered.
	Flight Flight
	Now    func() time.Time
	Log    *slog.Logger
}

// Flight counts what is under way. Begin says no where it is too late to be waited for.
type Flight interface {
	Begin() bool
	End()
}

// Handover hands requests over. It is safe for concurrent use.
type Handover struct {
	opts  Options
	tag   string
	peers peers
	proxy *httputil.ReverseProxy
}

// New gives a Handover. Without Options.Self it tags nothing and hands nothing over.
func New(o Options) *Handover {
	h := &Handover{opts: o}
	if o.Self.IsValid() {
		h.opts.Self = o.Self.Unmap()
		h.tag = separator + tagOf(h.opts.Self)
	}
	h.peers = peers{lookup: o.Lookup, now: o.Now}
	h.proxy = &httputil.ReverseProxy{
		Rewrite:       h.rewrite,
		Transport:     transport(),
		FlushInterval: -1, // event streams: every event at once
		ErrorHandler:  h.failed,
		ErrorLog:      slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug),
	}
	return h
}

// transport never uses a proxy of the environment: replicas are neighbours.
func transport() *http.Transport {
	return &http.Transport{
		DialContext:         (&net.Dialer{Timeout: dialTimeout}).DialContext,
		MaxIdleConnsPerHost: 16,
		IdleConnTimeout:     time.Minute,
		DisableCompression:  true, // bytes pass as they are
	}
}

func tagOf(a netip.Addr) string { return base64.RawURLEncoding.EncodeToString(a.AsSlice()) }

// Tag is what this replica puts behind names that it makes, so that the others know whose they are; empty where there are none.
func (h *Handover) Tag() string { return h.tag }

// Owner is the other replica that a name was made by. It says no to names of this replica, and to those without a tag.
func (h *Handover) Owner(name string) (netip.Addr, bool) {
	i := strings.LastIndex(name, separator)
	if h.tag == "" || i < 0 {
		return netip.Addr{}, false
	}
	raw, err := base64.RawURLEncoding.DecodeString(name[i+len(separator):])
	if err != nil {
		return netip.Addr{}, false
	}
	owner, ok := netip.AddrFromSlice(raw)
	if owner = owner.Unmap(); !ok || owner == h.opts.Self {
		return netip.Addr{}, false
	}
	return owner, true
}

// Received takes a request as it came in: one that a replica has handed over gets its client's address back, and from
// anybody else what only replicas may say is taken out.
func (h *Handover) Received(r *http.Request) *http.Request {
	client, hops := r.Header.Get(headerClient), r.Header.Get(headerHops)
	if client == "" && hops == "" {
		return r
	}
	ctx := r.Context()
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	replica := err == nil && h.tag != "" && h.peers.has(ctx, from.Addr().Unmap())
	if replica {
		ctx = context.WithValue(ctx, handedOver{}, true)
	}
	r = r.Clone(ctx)
	r.Header.Del(headerClient)
	r.Header.Del(headerHops)
	if address, err := netip.ParseAddr(client); replica && err == nil {
		r.RemoteAddr = netip.AddrPortFrom(address, from.Port()).String()
	}
	return r
}

// handedOver is the key of the mark in a request's context.
type handedOver struct{}

// Pass hands a request over to the replica that a name was made by, with its answer, and reports whether it did: not where
// the name is this replica's own, or the request has been handed over already. Where that replica is not there any more,
// gone answers.
func (h *Handover) Pass(w http.ResponseWriter, r *http.Request, name string, gone http.HandlerFunc) bool {
	owner, ok := h.Owner(name)
	if !ok || r.Context().Value(handedOver{}) != nil {
		return false
	}
	if !h.peers.has(r.Context(), owner) {
		h.opts.Counted(false)
		gone(w, r)
		return true
	}
	h.opts.Counted(true)
	// A stream that only listens has no end to wait for: its client opens it anew elsewhere.
	if r.Method == http.MethodPost && h.opts.Flight.Begin() {
		defer h.opts.Flight.End()
	}
	h.proxy.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), passing{}, destination{owner, gone})))
	return true
}

// passing is the key of the destination in the context of a request that is being handed over.
type passing struct{}

// destination is where a request goes, and who answers if it does not come there.
type destination struct {
	owner netip.Addr
	gone  http.HandlerFunc
}

// rewrite sends a request to its owner as the client sent it, Host and all: the owner makes the checks.
func (h *Handover) rewrite(p *httputil.ProxyRequest) {
	to, _ := p.In.Context().Value(passing{}).(destination)
	p.Out.URL.Scheme = "http"
	p.Out.URL.Host = net.JoinHostPort(to.owner.String(), strconv.Itoa(int(h.opts.Port)))
	p.Out.Host = p.In.Host
	p.Out.Header.Set(headerHops, "1")
	if from, err := netip.ParseAddrPort(p.In.RemoteAddr); err == nil {
		p.Out.Header.Set(headerClient, from.Addr().Unmap().String())
	}
}

// failed answers where the owner could not be reached: it has gone, and its sessions with it.
func (h *Handover) failed(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // the client has gone
	}
	h.opts.Log.Warn("a session's replica could not be reached", "err", err)
	if to, ok := r.Context().Value(passing{}).(destination); ok {
		to.gone(w, r)
	}
}
