// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// playedClient is the client of a dialogue, which says what that has. What it hears on any stream comes in one row.
type playedClient struct {
	t       *testing.T
	url     string
	modern  bool
	offers  string
	heard   chan string
	session string
	streams sync.WaitGroup
	leaves  []context.CancelFunc
}

// say sends a message, over a session of the legacy era if need be. It waits for what comes back where that is no stream.
func (c *playedClient) say(message string) {
	c.t.Helper()
	if c.modern {
		message = c.introduced(message)
	} else if c.session == "" && !strings.Contains(message, `"initialize"`) {
		c.post(strings.Replace(initialize(latest), `"capabilities":{}`, `"capabilities":`+c.offers, 1))
		next(c.t, c.heard, "the client hears of the session")
		c.begun()
	}
	c.post(message)
	if c.session != "" && strings.Contains(message, `"initialize"`) {
		c.begun()
	}
}

// begun ends the handshake, and opens the stream on which the server speaks on its own.
func (c *playedClient) begun() {
	c.t.Helper()
	c.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	c.exchange(http.MethodGet, "")
}

var (
	metaOf   = regexp.MustCompile(`"_meta":\{`)
	paramsOf = regexp.MustCompile(`"params":\{`)
)

// introduced adds the members of _meta that the modern era asks of each request.
func (c *playedClient) introduced(message string) string {
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"` + modern + `","io.modelcontextprotocol/clientCapabilities":` + c.offers
	switch {
	case !strings.Contains(message, `"id"`):
		return message
	case metaOf.MatchString(message):
		return metaOf.ReplaceAllLiteralString(message, meta+",")
	}
	return strings.Replace(paramsOf.ReplaceAllLiteralString(message, `"params":{`+meta+"},"), "},}", "}}", 1)
}

// post sends a message. Notifications and answers are over when it returns.
func (c *playedClient) post(message string) {
	c.t.Helper()
	c.exchange(http.MethodPost, message)
}

// exchange sends one HTTP request, whose answer is read meanwhile.
func (c *playedClient) exchange(method, body string) {
	c.t.Helper()
	ctx, leave := context.WithCancel(c.t.Context())
	c.leaves = append(c.leaves, leave)
	r := must[*http.Request](c.t)(http.NewRequestWithContext(ctx, method, c.url, strings.NewReader(body)))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if c.session != "" {
		r.Header.Set("Mcp-Session-Id", c.session)
		r.Header.Set("Mcp-Protocol-Version", latest)
	}
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct{ Name, URI string }
	}
	_ = json.Unmarshal([]byte(body), &m) // what is no message is for the dispatcher to refuse
	if c.modern {
		r.Header.Set("Mcp-Protocol-Version", modern)
		r.Header.Set("Mcp-Method", m.Method)
		if name := m.Params.Name + m.Params.URI; name != "" {
			r.Header.Set("Mcp-Name", name)
		}
	}
	done := make(chan struct{})
	c.streams.Go(func() {
		defer close(done)
		c.read(r)
	})
	if m.Method == "initialize" || method == http.MethodPost && (m.ID == nil || m.Method == "") {
		<-done
	}
}

// read carries out an HTTP request, and takes what it brings.
func (c *playedClient) read(r *http.Request) {
	resp, err := (&http.Client{Transport: web.Transport}).Do(r)
	if err != nil {
		return // it has left
	}
	defer resp.Body.Close() //nolint:errcheck // what matters was read
	if id := resp.Header.Get("Mcp-Session-Id"); id != "" && r.Header.Get("Mcp-Session-Id") == "" {
		c.session = id
	}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		lines := bufio.NewScanner(resp.Body)
		for lines.Scan() {
			data, ok := strings.CutPrefix(lines.Text(), "data: ")
			if ok && data != "" && !strings.Contains(data, "notifications/tools/list_changed") { // which may come at any time
				c.heard <- data
			}
		}
		return
	}
	body, err := io.ReadAll(resp.Body)
	switch {
	case err != nil || len(body) == 0 || r.Context().Err() != nil:
	case resp.StatusCode != http.StatusOK:
		c.heard <- fmt.Sprint(resp.StatusCode, " ", strings.TrimSpace(string(body)))
	default:
		c.heard <- strings.TrimSpace(string(body))
	}
}

// leave breaks the last request off.
func (c *playedClient) leave() { c.leaves[len(c.leaves)-1]() }

// close leaves all that is open, and ends the session.
func (c *playedClient) close() {
	for _, leave := range c.leaves {
		leave()
	}
	if c.session != "" {
		c.exchange(http.MethodDelete, "")
	}
	c.streams.Wait()
}

// next gives what comes next, within the time that everything has.
func next[T any](t *testing.T, from <-chan T, what string) T {
	t.Helper()
	bound := time.NewTimer(soon / 2)
	defer bound.Stop()
	select {
	case value := <-from:
		return value
	case <-bound.C:
		t.Fatalf("it did not come about that %s", what)
		panic("unreachable")
	}
}

// values are what differs from run to run, by the names that stand for it.
type values map[string]string

func (v values) fill(message string) string {
	for name, value := range v {
		message = strings.ReplaceAll(message, "{"+name+"}", value)
	}
	return message
}

var (
	idOf    = regexp.MustCompile(`"id":("[^"]*"|-?[0-9]+)`)
	askOf   = regexp.MustCompile(`"id":"(toolgate[^"]*)"`)
	tokenOf = regexp.MustCompile(`"progressToken":("[^"]*"|-?[0-9]+)`)
	stateOf = regexp.MustCompile(`"requestState":"(toolgate\.dev/[^"]*)"`)
	traceOf = regexp.MustCompile(`"traceId":"([0-9a-f]{32})"`)
)

// hideFromServer puts names in the place of what a server hears.
func (v values) hideFromServer(message string) string {
	if strings.Contains(message, `"method"`) {
		v.note("id", idOf, message)
		v.note("token", tokenOf, message)
	}
	message = v.hide(message, `"id":`, "id", "")
	message = v.hide(message, `"requestId":`, "id", "")
	return v.hide(message, `"progressToken":`, "token", "")
}

// hideFromClient does that for what a client hears.
func (v values) hideFromClient(message string) string {
	v.note("ask", askOf, message)
	v.note("state", stateOf, message)
	v.note("trace", traceOf, message)
	for _, name := range []string{"ask", "state", "trace"} {
		message = v.hide(message, `"`, name, `"`)
	}
	return message
}

func (v values) note(name string, of *regexp.Regexp, message string) {
	if found := of.FindStringSubmatch(message); found != nil {
		v[name] = found[1]
	}
}

func (v values) hide(message, before, name, after string) string {
	if v[name] == "" {
		return message
	}
	return strings.ReplaceAll(message, before+v[name]+after, before+"{"+name+"}"+after)
}
