// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
)

// replicas starts two dispatchers of one server on one port of two addresses, as pods have it. The server of each comes from s.
func replicas(t *testing.T, s *spawner) [2]*rig {
	t.Helper()
	addresses := []netip.Addr{netip.MustParseAddr("127.0.8.1"), netip.MustParseAddr("127.0.8.2")}
	var port uint16
	var out [2]*rig
	for i, address := range addresses {
		out[i] = startWith(t, s, nil, func(o *Options) {
			_ = o.Listeners.MCP.Close()
			l, err := net.Listen("tcp", netip.AddrPortFrom(address, port).String())
			if err != nil {
				t.Fatal(err)
			}
			port = netip.MustParseAddrPort(l.Addr().String()).Port()
			o.Listeners.MCP = l
			o.Replicas = Replicas{Self: address, Port: port, Lookup: func(context.Context) ([]netip.Addr, error) { return addresses, nil }}
		})
		eventually(t, "ready", out[i].ready)
	}
	return out
}

func (r *rig) inSession(id, body string) (status int, session, answer string) {
	r.t.Helper()
	header := http.Header{}
	if id != "" {
		header.Set("Mcp-Session-Id", id)
	}
	return r.send(body, header)
}

func (r *rig) send(body string, header http.Header) (status int, session, answer string) {
	r.t.Helper()
	request, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, r.base+"/mcp", strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	request.Header = header.Clone()
	request.Header.Set("Content-Type", "application/json")
	response, err := r.client.Do(request)
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	data, _ := io.ReadAll(response.Body)
	return response.StatusCode, response.Header.Get("Mcp-Session-Id"), string(data)
}

func TestASessionIsServedThroughEveryReplica(t *testing.T) {
	const call = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"text":"x"}}}`
	both := replicas(t, &spawner{})
	_, id, answer := both[0].inSession("", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	if id == "" {
		t.Fatalf("no session: %s", answer)
	}
	for i, r := range both {
		if status, _, answer := r.inSession(id, call); status != http.StatusOK || !strings.Contains(answer, `"text":"done"`) {
			t.Errorf("through replica %d: %d %s", i, status, answer)
		}
	}
	if _, body := both[1].get(both[1].admin + "/metrics"); !strings.Contains(body, `toolgate_handovers_total{result="done"} 1`) {
		t.Error("the hand-over was not counted where it was made")
	}
	if err := both[0].stop(); err != nil {
		t.Fatal(err)
	}
	if status, _, answer := both[1].inSession(id, call); status != http.StatusNotFound || !strings.Contains(answer, "Session not found") {
		t.Errorf("after the session's replica has gone: %d %s", status, answer)
	}
}

func TestARequestIsContinuedAtTheReplicaThatAsked(t *testing.T) {
	both := replicas(t, &spawner{})
	// No replica can open this state; which one says so shows who held the request.
	holder := both[0].handover
	call := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"text":"x"},"requestState":"toolgate.dev/0a` + holder.Tag() + `/zz",` +
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	modern := http.Header{"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"echo"}}
	handedOver := func(r *rig) string {
		_, body := r.get(r.admin + "/metrics")
		var lines []string
		for line := range strings.Lines(body) {
			if strings.HasPrefix(line, "toolgate_handovers_total") {
				lines = append(lines, strings.TrimSpace(line))
			}
		}
		return strings.Join(lines, " ")
	}
	const refusal = "begin the request again"
	if _, _, answer := both[1].send(call, modern); !strings.Contains(answer, refusal) || handedOver(both[1]) != `toolgate_handovers_total{result="done"} 1` {
		t.Errorf("through another replica: %s; %s", answer, handedOver(both[1]))
	}
	if _, _, answer := both[0].send(call, modern); !strings.Contains(answer, refusal) || handedOver(both[0]) != "" {
		t.Errorf("at the replica itself: %s; %s", answer, handedOver(both[0]))
	}
	if err := both[0].stop(); err != nil {
		t.Fatal(err)
	}
	if _, _, answer := both[1].send(call, modern); !strings.Contains(answer, refusal) || !strings.Contains(answer, "-32602") {
		t.Errorf("after that replica has gone: %s", answer)
	}
}

// TestADrainWaitsForWhatIsHandedOver: the replica in between has the client's connection.
func TestADrainWaitsForWhatIsHandedOver(t *testing.T) {
	const call = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"text":"x"}}}`
	server := &spawner{hold: make(chan struct{}), begun: make(chan struct{}, 8)}
	both := replicas(t, server)
	holder, between := both[0], both[1]
	_, id, _ := holder.inSession("", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	answer := make(chan string, 1)
	go func() {
		_, _, got := between.inSession(id, call)
		answer <- got
	}()
	<-server.begun
	drained := make(chan int, 1)
	go func() {
		status, _ := between.get(between.admin + "/drain")
		drained <- status
	}()
	eventually(t, "draining", func() bool { return between.state().Draining })
	select {
	case status := <-drained:
		t.Fatalf("drained (%d) with a call in its hands", status)
	default:
	}
	close(server.hold)
	if got := <-answer; !strings.Contains(got, `"text":"done"`) {
		t.Errorf("the answer is %q", got)
	}
	if status := <-drained; status != http.StatusOK {
		t.Errorf("drain: %d", status)
	}
}
