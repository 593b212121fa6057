// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"toolgate.dev/toolgate/internal/testutil/transcript"
	"toolgate.dev/toolgate/test/dataplane/asking"
)

// TestTranscripts plays testdata/transcripts: a file for each method, in it a dialogue for each combination of eras, with the
// real dispatcher between a client over HTTP and a server over stdio. A dialogue's lines are:
//
//	offers CAPABILITIES    the client declares these; none before the first line
//	client -> MESSAGE      the client sends this; after `client leaves` it has broken off that request
//	client <- MESSAGE      the client hears this, with the HTTP status before it unless that is 200
//	server <- MESSAGE      the server hears this, in any of its processes
//	server -> MESSAGE      the process that heard something last says this
//
// What each connection begins with, tools/list and pings the server answers by itself, and they are not in the dialogue unless the
// client sends them. In a session of the legacy era the client initializes by itself, unless the dialogue does; in the modern era
// it adds what _meta must have. Values that differ from run to run stand as names: {id} and {token} for those of the last request
// that the server heard, {ask} for the id of the last that the client heard, {state} for its requestState, {trace}.
func TestTranscripts(t *testing.T) {
	servers := map[string]*playedServer{"legacy server": playServer(t, asking.Legacy), "modern server": playServer(t, asking.Modern)}
	transcript.Play(t, "testdata/transcripts/*.txtar", func(t *testing.T, parts []txtar.File) {
		for i, part := range parts {
			t.Run(part.Name, func(t *testing.T) {
				client, server, _ := strings.Cut(part.Name, ", ")
				parts[i].Data = []byte(play(t, servers[server], client == "modern client", string(part.Data)))
			})
		}
	})
}

// play plays a dialogue, and gives it as it was.
func play(t *testing.T, s *playedServer, modern bool, dialogue string) string {
	t.Helper()
	if s == nil {
		t.Fatal("a dialogue is named after its sides, as in `legacy client, modern server`")
	}
	names := values{}
	c := &playedClient{t: t, url: s.dispatcher.mcp + "/mcp", modern: modern, offers: "{}", heard: make(chan string, 64)}
	defer c.close()
	var out strings.Builder
	for line := range strings.Lines(dialogue) {
		line = strings.TrimSpace(line)
		side, rest, _ := strings.Cut(line, " ")
		arrow, message, _ := strings.Cut(rest, " ")
		switch {
		case line == "" || side == "#":
		case side == "offers":
			c.offers = rest
		case side == "client" && arrow == "leaves":
			c.leave()
		case side == "client" && arrow == "->":
			c.say(names.fill(message))
		case side == "client" && arrow == "<-":
			line = "client <- " + names.hideFromClient(next(t, c.heard, "the client hears "+message))
		case side == "server" && arrow == "<-":
			line = "server <- " + names.hideFromServer(s.hear(t, message))
		case side == "server" && arrow == "->":
			s.say(t, names.fill(message))
		default:
			t.Fatalf("not a line of a dialogue: %s", line)
		}
		out.WriteString(line + "\n")
	}
	if len(c.heard)+len(s.heard) > 0 {
		t.Errorf("somebody heard more than the dialogue has: %d and %d messages", len(c.heard), len(s.heard))
	}
	return out.String()
}
