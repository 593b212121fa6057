// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package handover

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/limits"
)

// replica is one of several on loopback addresses with one port, as pods have it.
type replica struct {
	*Handover
	address netip.Addr
	server  *http.Server
	seen    chan *http.Request
	hold    chan struct{} // what an answer waits for before its second line
	flight  limits.Flight
}

type neighbours struct {
	mu    sync.Mutex
	addrs []netip.Addr
	err   error
	asked int
}

func (n *neighbours) lookup(context.Context) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked++
	return n.addrs, n.err
}

// replicas starts n replicas; each answers requests that it holds itself with its own address.
func replicas(t *testing.T, around *neighbours, n int) []*replica {
	t.Helper()
	var port uint16
	out := make([]*replica, 0, n)
	for i := range n {
		address := netip.AddrFrom4([4]byte{127, 0, 7, byte(i + 1)})
		listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", netip.AddrPortFrom(address, port).String())
		if err != nil {
			t.Fatal(err)
		}
		port = netip.MustParseAddrPort(listener.Addr().String()).Port()
		r := &replica{address: address, seen: make(chan *http.Request, 16)}
		r.Handover = New(Options{Self: address, Port: port, Lookup: around.lookup, Counted: func(bool) {}, Flight: &r.flight, Now: time.Now,
			Log: slog.New(slog.DiscardHandler)})
		r.server = &http.Server{Handler: r, ReadHeaderTimeout: time.Second}
		go func() { _ = r.server.Serve(listener) }()
		t.Cleanup(func() { _ = r.server.Close() })
		around.addrs = append(around.addrs, address)
		out = append(out, r)
	}
	return out
}

func gone(w http.ResponseWriter, _ *http.Request) { http.Error(w, "gone", http.StatusNotFound) }

func (r *replica) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	req = r.Received(req)
	if r.Pass(w, req, req.Header.Get("Mcp-Session-Id"), gone) {
		return
	}
	body, _ := io.ReadAll(req.Body)
	r.seen <- req
	_, _ = io.WriteString(w, "first\n")
	_ = http.NewResponseController(w).Flush()
	if r.hold != nil {
		<-r.hold
	}
	_, _ = io.WriteString(w, r.address.String()+" "+req.Host+" "+string(body))
}

func (r *replica) post(t *testing.T, session string, header ...string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+net.JoinHostPort(r.address.String(), r.port())+"/mcp", strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	req.Host = "weather"
	req.Header.Set("Mcp-Session-Id", session)
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	response, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

func (r *replica) port() string {
	return netip.AddrPortFrom(r.address, r.opts.Port).String()[len(r.address.String())+1:]
}

func read(t *testing.T, r *http.Response) string {
	t.Helper()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestRequestsReachTheReplicaThatHoldsTheSession(t *testing.T) {
	all := replicas(t, &neighbours{}, 3)
	session := "abc" + all[1].Tag()
	for _, at := range all {
		if got, want := read(t, at.post(t, session)), "first\n127.0.7.2 weather body"; got != want {
			t.Errorf("at %s: %q, want %q", at.address, got, want)
		}
		seen := <-all[1].seen
		if host, _, _ := net.SplitHostPort(seen.RemoteAddr); host != "127.0.0.1" {
			t.Errorf("at %s: the holder takes %q for the client", at.address, host)
		}
		for _, h := range []string{headerClient, headerHops, "X-Forwarded-For"} {
			if v := seen.Header.Get(h); v != "" {
				t.Errorf("at %s: %s: %q went past the hand-over", at.address, h, v)
			}
		}
	}
}

func TestEventsAreHandedOverAtOnce(t *testing.T) {
	all := replicas(t, &neighbours{}, 2)
	ended := make(chan struct{})
	all[1].hold = ended
	response := all[0].post(t, "abc"+all[1].Tag())
	// The holder has not ended its answer yet, and who hands it over must not end before.
	if n := all[0].flight.Count(); n != 1 {
		t.Errorf("%d are under way", n)
	}
	lines := bufio.NewReader(response.Body)
	if first, err := lines.ReadString('\n'); err != nil || first != "first\n" {
		t.Fatalf("%q, %v", first, err)
	}
	close(ended)
	if _, err := io.ReadAll(lines); err != nil {
		t.Fatal(err)
	}
	<-all[0].flight.Close()
}

func TestOnlyReplicasAreGoneTo(t *testing.T) {
	around := &neighbours{}
	all := replicas(t, around, 2)
	stranger := New(Options{Self: netip.MustParseAddr("127.0.7.99"), Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	for name, tc := range map[string]struct {
		session string
		want    int
	}{
		"an address that is no replica":     {"abc" + stranger.Tag(), http.StatusNotFound},
		"a tag that is no address":          {"abc.zz", http.StatusOK},
		"a tag that is no base64":           {"abc.!", http.StatusOK},
		"an empty tag":                      {"abc.", http.StatusOK},
		"no tag":                            {"abc", http.StatusOK},
		"this replica's own":                {"abc" + all[0].Tag(), http.StatusOK},
		"this replica's own as mapped IPv6": {"abc." + tagOf(netip.MustParseAddr("::ffff:127.0.7.1")), http.StatusOK},
	} {
		if got := all[0].post(t, tc.session).StatusCode; got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
}

func TestAReplicaThatHasGoneIsSaidToHaveGone(t *testing.T) {
	all := replicas(t, &neighbours{}, 2)
	session := "abc" + all[1].Tag()
	_ = all[1].server.Close()
	if got := all[0].post(t, session); got.StatusCode != http.StatusNotFound {
		t.Errorf("%d: %s", got.StatusCode, read(t, got))
	}
}

func TestClientsCanNotSpeakAsReplicas(t *testing.T) {
	all := replicas(t, &neighbours{}, 2)
	// The test's requests come from 127.0.0.1, which is no replica.
	read(t, all[0].post(t, "abc", headerClient, "10.0.0.1", headerHops, "1"))
	seen := <-all[0].seen
	if host, _, _ := net.SplitHostPort(seen.RemoteAddr); host != "127.0.0.1" || seen.Header.Get(headerClient) != "" || seen.Header.Get(headerHops) != "" {
		t.Errorf("taken for %s with %v", host, seen.Header)
	}
	// Nor does a forged mark keep a request from its replica.
	if got, want := read(t, all[0].post(t, "abc"+all[1].Tag(), headerHops, "1")), "127.0.7.2"; !strings.Contains(got, want) {
		t.Errorf("%q", got)
	}
}

func TestARequestIsHandedOverOnce(t *testing.T) {
	around := &neighbours{}
	all := replicas(t, around, 2)
	req := httptest.NewRequest(http.MethodPost, "/mcp", nil)
	req.RemoteAddr = "127.0.7.2:4000"
	req.Header.Set(headerHops, "1")
	req.Header.Set(headerClient, "10.1.2.3")
	req = all[0].Received(req)
	if req.RemoteAddr != "10.1.2.3:4000" {
		t.Errorf("the client's address: %s", req.RemoteAddr)
	}
	if all[0].Pass(httptest.NewRecorder(), req, "abc"+all[1].Tag(), gone) {
		t.Error("a request that came from a replica was handed on")
	}
}

func TestADispatcherAloneTagsNothing(t *testing.T) {
	h := New(Options{Log: slog.New(slog.DiscardHandler)})
	if got := h.Tag(); got != "" {
		t.Errorf("%q", got)
	}
	if h.Pass(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/mcp", nil), "abc.fwAAAQ", gone) {
		t.Error("handed over to nobody")
	}
}

func TestLookupsAreKept(t *testing.T) {
	now := time.Now()
	around := &neighbours{addrs: []netip.Addr{netip.MustParseAddr("10.0.0.1")}}
	p := peers{lookup: around.lookup, now: func() time.Time { return now }}
	has := func(a string) bool { return p.has(t.Context(), netip.MustParseAddr(a)) }
	for range 2 {
		if !has("10.0.0.1") || around.asked != 1 {
			t.Fatalf("asked %d times", around.asked)
		}
	}
	if has("10.0.0.2") || around.asked != 1 {
		t.Fatalf("an unknown address was asked for at once: %d", around.asked)
	}
	around.addrs = append(around.addrs, netip.MustParseAddr("10.0.0.2"))
	if now = now.Add(again); !has("10.0.0.2") || around.asked != 2 {
		t.Fatalf("a new replica was not found: %d", around.asked)
	}
	around.addrs, around.err = nil, errors.New("no name server")
	if now = now.Add(fresh); !has("10.0.0.1") || around.asked != 3 {
		t.Fatalf("a failed lookup made replicas forgotten: %d", around.asked)
	}
	around.err = nil
	if now = now.Add(fresh); has("10.0.0.1") {
		t.Fatal("a replica that has gone is still known")
	}
}
