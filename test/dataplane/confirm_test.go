// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/test/dataplane/asking"
)

// byPerson has destructive calls confirmed by the person at the client.
func byPerson(d *registry.Document) {
	open(d)
	d.Policy.Trust.Trusted = false
	d.Policy.Gating.Confirm = true
	d.Policy.Confirm.By = registry.ConfirmByCaller
}

// TestConfirmationByPersons has clients of the Go SDK, in both eras, confirm and decline, before servers of both eras.
func TestConfirmationByPersons(t *testing.T) {
	for _, era := range []asking.Era{asking.Legacy, asking.Modern} {
		for _, version := range []string{latest, modern} {
			t.Run("server "+string(era)+", client "+version, func(t *testing.T) {
				t.Parallel()
				d, ran := askingOver["stdio"](t, era, byPerson)
				var read string
				answer := &mcp.ElicitResult{Action: "accept", Content: map[string]any{"confirm": true}}
				client := mcp.NewClient(&mcp.Implementation{Name: "person", Version: "1"}, &mcp.ClientOptions{
					ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
						read = r.Params.Message
						return answer, nil
					},
				})
				s := must[*mcp.ClientSession](t)(client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: d.ready().mcp + "/mcp"},
					&mcp.ClientSessionOptions{ProtocolVersion: version}))
				defer s.Close() //nolint:errcheck // the dispatcher ends with the test
				call := func(path string) string {
					t.Helper()
					result, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "remove", Arguments: map[string]any{"path": path}})
					return said(t, result, err)
				}
				if got := call("/a"); got != "removed /a" || !strings.Contains(read, "Tool: remove\nArguments: {\"path\":\"/a\"}") || !strings.HasPrefix(read, "[asking]") {
					t.Errorf("confirmed: %q; the person read %q", got, read)
				}
				answer = &mcp.ElicitResult{Action: "decline"}
				if got := call("/b"); !strings.Contains(got, "did not confirm") {
					t.Errorf("declined: %q", got)
				}
				if got := ran(); got != "remove /a\n" {
					t.Errorf("what ran: %q", got)
				}
				for _, outcome := range []string{"confirm_pending", "confirmed", "declined"} {
					d.recorded(outcome)
				}
			})
		}
	}
}

// TestConfirmation tries every way round a confirmation, in bytes (G-10, G-110, G-111).
func TestConfirmation(t *testing.T) {
	const path, yes = `{"path":"/x"}`, `"inputResponses":{"toolgate.dev/confirmation":{"action":"accept","content":{"confirm":true}}}`
	newServer := func(t *testing.T) (*dispatcher, *registry.Document, string, func() string) {
		log := filepath.Join(t.TempDir(), "ran")
		command := asking.Command(binaries.self, asking.Legacy, log)
		doc := initialized(t, append([]string{"--"}, command...)...)
		byPerson(doc)
		file := write(t, doc)
		return serveFile(t, file, command...).ready(), doc, file, func() string { return readFile(t, log) }
	}
	for name, try := range map[string]func(t *testing.T, d *dispatcher, doc *registry.Document, file string) *answer{
		"confirm among the arguments": func(_ *testing.T, d *dispatcher, _ *registry.Document, _ string) *answer {
			return d.anonymous().modernCall("remove", `{"path":"/x","confirm":true}`)
		},
		"confirm among the arguments, in a session": func(_ *testing.T, d *dispatcher, _ *registry.Document, _ string) *answer {
			return d.session(latest).call("remove", `{"path":"/x","confirm":true}`)
		},
		"an answer that nobody asked for": func(_ *testing.T, d *dispatcher, _ *registry.Document, _ string) *answer {
			return d.anonymous().rounds("remove", path, ","+yes)
		},
		"a batch with a call": func(t *testing.T, d *dispatcher, _ *registry.Document, _ string) *answer {
			c := d.anonymous()
			state := c.asks("remove", path).RequestState
			return c.post(fmt.Sprintf(`[{"jsonrpc":"2.0","method":"notifications/initialized"},{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"remove",`+
				`"arguments":%s,%s,"requestState":%q}}]`, path, yes, state), "Mcp-Protocol-Version", modern, "Mcp-Method", "tools/call", "Mcp-Name", "remove")
		},
		"other arguments": func(_ *testing.T, d *dispatcher, _ *registry.Document, _ string) *answer {
			c := d.anonymous()
			return c.rounds("remove", `{"path":"/"}`, c.confirms("remove", path))
		},
		"another caller": func(t *testing.T, d *dispatcher, _ *registry.Document, _ string) *answer {
			return d.from(t, "127.0.0.3").rounds("remove", path, d.anonymous().confirms("remove", path))
		},
		"another tool": func(_ *testing.T, d *dispatcher, _ *registry.Document, _ string) *answer {
			c := d.anonymous()
			return c.rounds("remove", path, c.asked("greet"))
		},
		"another policy": func(t *testing.T, d *dispatcher, doc *registry.Document, file string) *answer {
			c := d.anonymous()
			more := c.confirms("remove", path)
			doc.Sequence++
			doc.Policy.TimeoutSeconds++
			replace(t, file, encode(t, doc))
			d.until("the next policy is in force", func(s registry.State) bool { return s.Registry.Sequence == doc.Sequence })
			return c.rounds("remove", path, more)
		},
		"a Block in the meantime": func(t *testing.T, d *dispatcher, doc *registry.Document, file string) *answer {
			c := d.anonymous()
			more := c.confirms("remove", path)
			doc.Sequence++
			doc.Policy.Gating.Confirm = false
			replace(t, file, encode(t, doc))
			d.until("the next policy is in force", func(s registry.State) bool { return s.Registry.Sequence == doc.Sequence })
			return c.rounds("remove", path, more)
		},
		"a no": func(_ *testing.T, d *dispatcher, _ *registry.Document, _ string) *answer {
			c := d.anonymous()
			return c.rounds("remove", path, strings.Replace(c.confirms("remove", path), `"confirm":true`, `"confirm":false`, 1))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, doc, file, ran := newServer(t)
			a := try(t, d, doc, file)
			if strings.Contains(string(a.body), "removed") || ran() != "" {
				t.Errorf("%s; what ran: %q", a.body, ran())
			}
		})
	}
	t.Run("once and not again", func(t *testing.T) {
		t.Parallel()
		d, _, _, ran := newServer(t)
		c := d.anonymous()
		more := c.confirms("remove", path)
		if a := c.rounds("remove", path, more); !strings.Contains(string(a.Result), "removed /x") {
			t.Errorf("confirmed: %s", a.body)
		}
		if a := c.rounds("remove", path, more); a.code() != -32602 || ran() != "remove /x\n" {
			t.Errorf("once more: %s; what ran: %q", a.body, ran())
		}
	})
}

// confirms makes a call and gives the members by which a person confirms it.
func (c *client) confirms(tool, arguments string) string {
	c.t.Helper()
	asked := c.asks(tool, arguments)
	if keys := asked.keys(); len(keys) != 1 || keys[0] != "toolgate.dev/confirmation" {
		c.t.Fatalf("asked for %v", keys)
	}
	return fmt.Sprintf(`,"inputResponses":{"toolgate.dev/confirmation":{"action":"accept","content":{"confirm":true}}},"requestState":%q`, asked.RequestState)
}

// asked makes a call whose server asks for something, and gives members that confirm under that state.
func (c *client) asked(tool string) string {
	c.t.Helper()
	return fmt.Sprintf(`,"inputResponses":{"toolgate.dev/confirmation":{"action":"accept","content":{"confirm":true}}},"requestState":%q`, c.asks(tool, `{}`).RequestState)
}
