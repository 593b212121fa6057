// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/test/dataplane/asking"
	"toolgate.dev/toolgate/test/dataplane/serving"
)

// askingOver starts a dispatcher before an asking server of one era, over each transport that there is. done gives the tools
// that ran to their end so far.
var askingOver = map[string]func(t *testing.T, era asking.Era, change func(*registry.Document)) (d *dispatcher, done func() string){
	"stdio": func(t *testing.T, era asking.Era, change func(*registry.Document)) (*dispatcher, func() string) {
		log := filepath.Join(t.TempDir(), "ran")
		command := asking.Command(binaries.self, era, log)
		doc := initialized(t, append([]string{"--"}, command...)...)
		change(doc)
		return serve(t, doc, command...), func() string { return readFile(t, log) }
	},
	"streamable HTTP": func(t *testing.T, era asking.Era, change func(*registry.Document)) (*dispatcher, func() string) {
		ran := &serving.Text{}
		s := httptest.NewServer(asking.Handler(asking.NewServer(func(tool string) { _, _ = ran.Write([]byte(tool + "\n")) }), era)) // never fails
		t.Cleanup(s.Close)
		doc := initialized(t, "--url", s.URL+"/mcp")
		change(doc)
		return serve(t, doc), ran.String
	},
}

// open lets servers ask everything.
func open(d *registry.Document) {
	d.Policy.Limits.RequestsPerMinute = 0
	d.Policy.Client = registry.Client{Sampling: true, SamplingTools: true, ElicitationForm: true, ElicitationURL: true, Roots: true}
}

// TestServersAskClients lets servers of both eras ask clients of both eras for what there is to ask for (G-83).
func TestServersAskClients(t *testing.T) {
	for transport, start := range askingOver {
		for _, era := range []asking.Era{asking.Legacy, asking.Modern} {
			for _, version := range []string{latest, older, modern} {
				t.Run(transport+", server "+string(era)+", client "+version, func(t *testing.T) {
					t.Parallel()
					d, _ := start(t, era, open)
					s, h := d.ready().sdk(version)
					checkAsking(t, s, h, era, version)
				})
			}
		}
	}
}

func checkAsking(t *testing.T, s *mcp.ClientSession, h *heard, era asking.Era, version string) {
	t.Helper()
	const person = "elicitation: [asking] Your name?"
	for tool, tc := range map[string]struct {
		want  string
		asked []string
	}{
		"greet":   {"[accept Ada Lovelace]", []string{person}},
		"sample":  {"[sampled: the weather]", []string{"sampling"}},
		"roots":   {"[file:///srv/data]", nil},
		"several": {"[accept Ada Lovelace file:///srv/data]", []string{person}},
		"twice":   {"Ada Lovelace", []string{person}},
	} {
		result, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: map[string]any{}})
		if got := said(t, result, err); !strings.Contains(got, tc.want) {
			t.Errorf("%s: %q, want %q", tool, got, tc.want)
		}
		for _, want := range tc.asked {
			if got := <-h.asked; got != want {
				t.Errorf("%s asked %q, want %q", tool, got, want)
			}
		}
	}
	if era == asking.Legacy && version != modern {
		return // the SDK bridges tools alone
	}
	prompt, err := s.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "letter"})
	if err != nil || prompt.Messages[0].Content.(*mcp.TextContent).Text != "[accept Ada Lovelace]" {
		t.Errorf("prompts/get: %+v, %v", prompt, err)
	}
	if era == asking.Legacy {
		return // here the SDK refuses what its own handler gave
	}
	read, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "asking://note"})
	if err != nil || read.Contents[0].Text != "[accept Ada Lovelace]" {
		t.Errorf("resources/read: %+v, %v", read, err)
	}
}

// TestServersAskWhatPolicyDenies has servers ask for what the document or the client does not let them.
func TestServersAskWhatPolicyDenies(t *testing.T) {
	for name, tc := range map[string]struct {
		era    asking.Era
		change func(*registry.Client)
		tool   string
		want   string // of the answer's text or error
	}{
		"roots, modern":                {asking.Modern, func(c *registry.Client) { c.Roots = false }, "roots", "does not let it ask"},
		"one of several, modern":       {asking.Modern, func(c *registry.Client) { c.Roots = false }, "several", "does not let it ask"},
		"a URL, modern":                {asking.Modern, func(c *registry.Client) { c.ElicitationURL = false }, "visit", "does not let it ask"},
		"a URL that it cannot, modern": {asking.Modern, func(*registry.Client) {}, "visit", "does not offer"},
		"roots, legacy":                {asking.Legacy, func(c *registry.Client) { c.Roots = false }, "roots", "method not found"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, ran := askingOver["streamable HTTP"](t, tc.era, func(doc *registry.Document) { open(doc); tc.change(&doc.Policy.Client) })
			for _, version := range []string{latest, modern} {
				s, _ := d.ready().sdk(version)
				result, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tc.tool, Arguments: map[string]any{}})
				var got string
				switch {
				case err != nil:
					got = err.Error()
				case result.IsError:
					got = result.Content[0].(*mcp.TextContent).Text
				}
				if !strings.Contains(got, tc.want) {
					t.Errorf("%s: %q, want %q", version, got, tc.want)
				}
			}
			if ran() != "" {
				t.Errorf("what ran: %q", ran())
			}
		})
	}
}

// rounds makes a call of revision 2026-07-28 by a client that offers forms, in bytes; more are members of params.
func (c *client) rounds(tool, arguments, more string) *answer {
	c.t.Helper()
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"roots":{}}}`
	return c.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+tool+`","arguments":`+arguments+more+`,`+meta+`}}`,
		"Mcp-Protocol-Version", modern, "Mcp-Method", "tools/call", "Mcp-Name", tool)
}

// TestStatesOfRounds sends back what a round gave in every way that is not the right one, to servers of both eras.
func TestStatesOfRounds(t *testing.T) {
	for _, era := range []asking.Era{asking.Legacy, asking.Modern} {
		t.Run(string(era), func(t *testing.T) {
			t.Parallel()
			d, ran := askingOver["stdio"](t, era, open)
			c := d.ready().anonymous()
			first := c.asks("greet", `{}`)
			key := first.keys()[0]
			if (era == asking.Modern) != (key == "name") || first.InputRequests[key].Params.Message != "[asking] Your name?" {
				t.Errorf("asked %+v", first)
			}
			if strings.Contains(first.RequestState, "state of greet") {
				t.Error("the server's own state is open")
			}
			answers := `,"inputResponses":{"` + key + `":{"action":"accept","content":{"name":"Ada"}},"stranger":{}}`
			with := func(state string) string { return answers + `,"requestState":"` + state + `"` }
			for name, tc := range map[string]struct{ tool, more, want string }{
				"altered":                   {"greet", with(first.RequestState + "-TAMPERED"), "it was changed"},
				"of nobody":                 {"greet", with("state of greet"), "not one that was given out here"},
				"of another tool":           {"twice", with(first.RequestState), "another request"},
				"of another process":        {"greet", with("toolgate.dev/0011223344556677/AAAA"), "before a restart"},
				"an answer that is no such": {"greet", `,"inputResponses":{"` + key + `":7},"requestState":"` + first.RequestState + `"`, "no object"},
				"null":                      {"greet", `,"inputResponses":null`, "no object"},
			} {
				if a := c.rounds(tc.tool, `{}`, tc.more); a.code() != -32602 || !strings.Contains(a.Error.Message, tc.want) {
					t.Errorf("%s: %s, want %q", name, a.body, tc.want)
				}
			}
			stranger := d.from(t, "127.0.0.2")
			if a := stranger.rounds("greet", `{}`, with(first.RequestState)); a.code() != -32602 || !strings.Contains(a.Error.Message, "another caller") {
				t.Errorf("another caller: %s", a.body)
			}
			if a := c.rounds("greet", `{}`, with(first.RequestState)); !strings.Contains(string(a.body), "[accept Ada]") {
				t.Errorf("its owner: %s", a.body)
			}
			if a := c.rounds("greet", `{}`, with(first.RequestState)); a.code() != -32602 || !strings.Contains(a.Error.Message, "used before") {
				t.Errorf("once more: %s", a.body)
			}
			if got := ran(); got != "greet\n" {
				t.Errorf("what ran: %q", got)
			}
			d.recorded("input_required")
			c.asks("greet", `{}`) // is never answered, and keeps the dispatcher from nothing
		})
	}
}

// from gives a client that comes from another address of this machine.
func (d *dispatcher) from(t *testing.T, address string) *client {
	t.Helper()
	transport := &http.Transport{DialContext: (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}).DialContext}
	t.Cleanup(transport.CloseIdleConnections)
	c := d.anonymous()
	c.web = &http.Client{Transport: transport, Timeout: soon}
	return c
}

// asks makes a call and wants to be asked.
func (c *client) asks(tool, arguments string) asked {
	c.t.Helper()
	a := c.rounds(tool, arguments, "")
	var result asked
	if err := json.Unmarshal(a.Result, &result); err != nil || result.ResultType != "input_required" || result.RequestState == "" {
		c.t.Fatalf("%s: %v, %d %s", tool, err, a.status, a.body)
	}
	return result
}

// asked is a result that asks for input.
type asked struct {
	ResultType    string `json:"resultType"`
	RequestState  string `json:"requestState"`
	InputRequests map[string]struct {
		Method string `json:"method"`
		Params struct {
			Message string `json:"message"`
		} `json:"params"`
	} `json:"inputRequests"`
}

func (a *asked) keys() []string {
	var keys []string
	for key := range a.InputRequests {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// readFile is what is in a file, nothing where there is none.
func readFile(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return string(data)
}
