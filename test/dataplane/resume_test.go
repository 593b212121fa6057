// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolgate.dev/toolgate/test/dataplane/scripted"
)

// cutter breaks the connection of every call once something has come over it.
type cutter struct {
	http.RoundTripper
	mu   sync.Mutex
	cuts int
}

func (c *cutter) RoundTrip(r *http.Request) (*http.Response, error) {
	isCall := false
	if r.Method == http.MethodPost {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		isCall = bytes.Contains(body, []byte(`"tools/call"`))
	}
	resp, err := c.RoundTripper.RoundTrip(r)
	if err == nil && isCall {
		resp.Body = &cut{resp.Body, c}
	}
	return resp, err
}

type cut struct {
	io.ReadCloser
	by *cutter
}

// Read gives one piece; after an event there is no more.
func (c *cut) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	if bytes.HasSuffix(p[:n], []byte("\n\n")) && err == nil {
		c.by.mu.Lock()
		c.by.cuts++
		c.by.mu.Unlock()
		_ = c.Close() // the server is to see it too
		return n, io.ErrUnexpectedEOF
	}
	return n, err
}

// TestGoSDKResumes has the client of the Go SDK lose the connection of a call, and fetch the answer on another.
func TestGoSDKResumes(t *testing.T) {
	c := newChild(t, scripted.Good, scripted.Hang)
	d := serve(t, document(t, c.definitions()...), c.command()...).ready()
	broken := &cutter{RoundTripper: http.DefaultTransport}
	client := mcp.NewClient(&mcp.Implementation{Name: "go-sdk", Version: "1"}, nil)
	s, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: d.mcp + "/mcp", HTTPClient: &http.Client{Transport: broken}},
		&mcp.ClientSessionOptions{ProtocolVersion: latest})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // the dispatcher ends first in a test that fails
	type outcome struct {
		result *mcp.CallToolResult
		err    error
	}
	got := make(chan outcome, 1)
	go func() {
		result, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "hang", Arguments: map[string]any{}})
		got <- outcome{result, err}
	}()
	await(t, "the connection of the call broke", func() bool {
		broken.mu.Lock()
		defer broken.mu.Unlock()
		return broken.cuts > 0
	})
	c.release()
	o := <-got
	if text := said(t, o.result, o.err); text != "hang" || len(c.calls()) != 1 {
		t.Errorf("answer %q after %d calls", text, len(c.calls()))
	}
}

// TestUnknownEvents asks for what follows events that there never were.
func TestUnknownEvents(t *testing.T) {
	c := newChild(t, scripted.Good, greet)
	s := serve(t, document(t, c.definitions()...), c.command()...).ready().session(latest)
	for _, id := range []string{"x", "9-9", "0-7"} {
		request := must[*http.Request](t)(http.NewRequest(http.MethodGet, s.url, nil))
		request.Header.Set("Accept", "text/event-stream")
		request.Header.Set("Mcp-Session-Id", s.session)
		request.Header.Set("Last-Event-ID", id)
		resp := must[*http.Response](t)(web.Do(request))
		body := must[[]byte](t)(io.ReadAll(resp.Body))
		if err := resp.Body.Close(); err != nil {
			t.Error(err)
		}
		if resp.StatusCode != http.StatusBadRequest || !strings.Contains(string(body), "EventUnknown") {
			t.Errorf("after %s: %s %s", id, resp.Status, body)
		}
	}
}
