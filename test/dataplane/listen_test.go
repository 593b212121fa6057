// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/test/dataplane/asking"
)

// told is what a client of the Go SDK is told of changes.
type told chan string

// until waits for one thing; others may come before it, and again.
func (c told) until(t *testing.T, want string) {
	t.Helper()
	bound := time.NewTimer(soon)
	defer bound.Stop()
	for {
		select {
		case got := <-c:
			if got == want {
				return
			}
		case <-bound.C:
			t.Fatalf("never told of %s", want)
		}
	}
}

// listening connects a client of the Go SDK that wants to know everything.
func (d *dispatcher) listening(version string) (*mcp.ClientSession, told) {
	d.t.Helper()
	c := make(told, 100)
	client := mcp.NewClient(&mcp.Implementation{Name: "go-sdk", Version: "1"}, &mcp.ClientOptions{
		ToolListChangedHandler:     func(context.Context, *mcp.ToolListChangedRequest) { c <- "tools" },
		PromptListChangedHandler:   func(context.Context, *mcp.PromptListChangedRequest) { c <- "prompts" },
		ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) { c <- "resources" },
		ResourceUpdatedHandler:     func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { c <- r.Params.URI },
	})
	s := must[*mcp.ClientSession](d.t)(client.Connect(d.t.Context(), &mcp.StreamableClientTransport{Endpoint: d.mcp + "/mcp"}, &mcp.ClientSessionOptions{ProtocolVersion: version}))
	d.t.Cleanup(func() { _ = s.Close() }) // it was asked what it was for
	return s, c
}

// TestClientsListen has clients of both eras listen to servers of both eras, which share one connection to the server: each
// hears of what it subscribed to, and of lists.
func TestClientsListen(t *testing.T) {
	for transport, start := range askingOver {
		for _, era := range []asking.Era{asking.Legacy, asking.Modern} {
			t.Run(transport+", server "+string(era), func(t *testing.T) {
				t.Parallel()
				d, _ := start(t, era, func(doc *registry.Document) {
					open(doc)
					doc.Upstream.Isolation = registry.IsolationShared
				})
				d.ready()
				for _, version := range []string{latest, modern} {
					t.Run(version, func(t *testing.T) { checkListening(t, &dispatcher{t: t, mcp: d.mcp}, version) })
				}
			})
		}
	}
}

func checkListening(t *testing.T, d *dispatcher, version string) {
	s, heard := d.listening(version)
	other, heardByOther := d.listening(version)
	for _, c := range []*mcp.ClientSession{s, other} {
		offered := c.InitializeResult().Capabilities
		if !offered.Tools.ListChanged || !offered.Prompts.ListChanged || !offered.Resources.ListChanged || !offered.Resources.Subscribe {
			t.Fatalf("offered %+v %+v %+v", offered.Tools, offered.Prompts, offered.Resources)
		}
	}
	subscribe := func(c *mcp.ClientSession, uri string) {
		t.Helper()
		if err := c.Subscribe(t.Context(), &mcp.SubscribeParams{URI: uri}); err != nil {
			t.Fatalf("subscribing to %s: %v", uri, err)
		}
	}
	update := func(uri string) {
		t.Helper()
		result, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "update", Arguments: map[string]any{"uri": uri}})
		if got := said(t, result, err); got != "updated" {
			t.Fatalf("update: %s", got)
		}
	}
	subscribe(s, "asking://note")
	subscribe(other, "asking://other")
	// In the later era the SDK does not wait until a subscription is acknowledged.
	again := func(c told, uri string) {
		t.Helper()
		await(t, "an update of "+uri+" is heard", func() bool {
			update(uri)
			select {
			case got := <-c:
				return got == uri
			case <-time.After(100 * time.Millisecond):
				return false
			}
		})
	}
	again(heard, "asking://note")
	again(heardByOther, "asking://other")
	update("asking://note")
	heard.until(t, "asking://note")
	result, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "grow", Arguments: map[string]any{}})
	said(t, result, err)
	for _, c := range []told{heard, heardByOther} {
		await(t, "both lists are heard of", listsHeard(c))
	}
	for {
		select {
		case got := <-heardByOther:
			if got == "asking://note" {
				t.Error("a client heard of what another subscribed to")
			}
			continue
		default:
		}
		break
	}
}

// listsHeard says whether a client has been told of prompts and of resources.
func listsHeard(c told) func() bool {
	seen := map[string]bool{}
	return func() bool {
		for {
			select {
			case got := <-c:
				seen[got] = true
			default:
				return seen["prompts"] && seen["resources"]
			}
		}
	}
}

// TestASubscriptionHasAConnectionOfItsOwn subscribes before a server with a process for each session: the subscription has one
// for its time, and leaves nothing behind.
func TestASubscriptionHasAConnectionOfItsOwn(t *testing.T) {
	d, _ := askingOver["stdio"](t, asking.Legacy, open)
	d.ready()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	request := must[*http.Request](t)(http.NewRequestWithContext(ctx, http.MethodPost, d.mcp+"/mcp", strings.NewReader(
		`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
			`"io.modelcontextprotocol/clientCapabilities":{}},"notifications":{"promptsListChanged":true,"resourceSubscriptions":["asking://note"]}}}`)))
	for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"MCP-Protocol-Version": modern, "Mcp-Method": "subscriptions/listen"} {
		request.Header.Set(name, value)
	}
	before := figure(t, d, "toolgate_child_starts_total")
	resp := must[*http.Response](t)(http.DefaultTransport.RoundTrip(request))
	defer resp.Body.Close() //nolint:errcheck // it is broken off
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "data: ") {
	}
	if want := `"notifications":{"promptsListChanged":true,"resourceSubscriptions":["asking://note"]}`; !strings.Contains(lines.Text(), want) {
		t.Fatalf("acknowledged %s, want %s", lines.Text(), want)
	}
	if after, listeners := figure(t, d, "toolgate_child_starts_total"), figure(t, d, "toolgate_listeners"); after != before+1 || listeners != 1 {
		t.Errorf("%v processes were started for %v subscriptions", after-before, listeners)
	}
	cancel()
	await(t, "the subscription has ended", func() bool { return figure(t, d, "toolgate_listeners") == 0 })
}
