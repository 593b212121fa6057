// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"toolgate.dev/toolgate/test/dataplane/asking"
)

// relayArgument is the first argument of a test binary that is to carry the lines of a server over stdio to the test, which
// listens at a socket.
const relayArgument = "relay-mcp-server"

// relay is the whole life of such a child. It returns the exit status.
func relay(socket string) int {
	conn, err := net.Dial("unix", socket)
	if err == nil {
		go func() {
			_, err := io.Copy(conn, os.Stdin)
			_ = errors.Join(err, conn.(*net.UnixConn).CloseWrite()) // the test hears the end either way
		}()
		_, err = io.Copy(os.Stdout, conn)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// playedServer is the server of the dialogues, of one era, and the dispatcher before it.
type playedServer struct {
	dispatcher *dispatcher
	era        asking.Era
	heard      chan spoken // what it does not answer by itself
	last       net.Conn    // the process that heard something last
}

// spoken is a line and the process that heard it.
type spoken struct {
	line string
	conn net.Conn
}

// What the server says of itself.
const (
	playedTools = `{"tools":[{"name":"echo","inputSchema":{"type":"object","properties":{"n":{"type":"number"}}},"annotations":{"readOnlyHint":true},"x-vendor":1.50},` +
		`{"name":"job","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}}]}`
	playedAbilities = `{"tools":{},"resources":{"subscribe":true,"listChanged":true},"prompts":{},"completions":{},"logging":{},"tasks":{"requests":{"tools":{"call":{}}}}}`
)

// playServer starts a dispatcher before a server that the test plays, and ends both with the test.
func playServer(t *testing.T, era asking.Era) *playedServer {
	t.Helper()
	folder := must[string](t)(os.MkdirTemp("", "play-")) // paths of sockets are short
	t.Cleanup(func() { _ = os.RemoveAll(folder) })       // a folder of temporary files
	socket := filepath.Join(folder, "s")
	listener := must[net.Listener](t)(net.Listen("unix", socket))
	t.Cleanup(func() { _ = listener.Close() }) // an error is that it is closed
	s := &playedServer{era: era, heard: make(chan spoken, 64)}
	go func() {
		for watching := true; ; watching = false { // the first process is the one that the dispatcher watches the server with
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go s.process(conn, watching)
		}
	}()
	var tools struct{ Tools []json.RawMessage }
	if err := json.Unmarshal([]byte(playedTools), &tools); err != nil {
		t.Fatal(err)
	}
	doc := document(t, tools.Tools...)
	doc.Policy.Passthrough = []string{"vendor/known"}
	s.dispatcher = serve(t, doc, binaries.self, relayArgument, socket).ready()
	return s
}

// process answers one child's part by itself as far as it can. What watches the server counts its other lists too.
func (s *playedServer) process(conn net.Conn, watching bool) {
	defer conn.Close() //nolint:errcheck // the child has ended
	lines := bufio.NewReader(conn)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		var m struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.Unmarshal([]byte(line), &m) // what is no message is part of no dialogue
		switch answer := s.answer(m.Method); {
		case watching && answer == "" && m.ID != nil:
			_, _ = fmt.Fprintf(conn, `{"jsonrpc":"2.0","id":%s,"result":{"resources":[],"prompts":[]}}`+"\n", m.ID) // as below
		case answer != "":
			_, _ = fmt.Fprintf(conn, `{"jsonrpc":"2.0","id":%s,%s}`+"\n", m.ID, answer) // it may have ended
		case m.Method == "notifications/initialized":
		default:
			s.heard <- spoken{strings.TrimSpace(line), conn}
		}
	}
}

// answer is what the server says by itself, nothing where the dialogue says it.
func (s *playedServer) answer(method string) string {
	const unknown = `"error":{"code":-32601,"message":"Method not found"}`
	info := `{"name":"played","version":"1"}`
	switch {
	case method == "initialize" && s.era == asking.Legacy:
		return `"result":{"protocolVersion":"` + latest + `","capabilities":` + playedAbilities + `,"serverInfo":` + info + `}`
	case method == "server/discover" && s.era == asking.Modern:
		abilities := strings.ReplaceAll(playedAbilities, `,"listChanged":true`, "")
		return `"result":{"resultType":"complete","supportedVersions":["` + modern + `"],"capabilities":` + abilities +
			`,"_meta":{"io.modelcontextprotocol/serverInfo":` + info + `}}`
	case method == "initialize", method == "server/discover":
		return unknown
	case method == "tools/list":
		return `"result":` + playedTools
	case method == "ping":
		return `"result":{}`
	}
	return ""
}

// hear gives what the server hears next.
func (s *playedServer) hear(t *testing.T, want string) string {
	t.Helper()
	heard := next(t, s.heard, "the server hears "+want)
	s.last = heard.conn
	return heard.line
}

// say lets the process speak that heard something last.
func (s *playedServer) say(t *testing.T, message string) {
	t.Helper()
	if s.last == nil {
		t.Fatal("no process has heard anything yet")
	}
	if _, err := fmt.Fprintln(s.last, message); err != nil {
		t.Fatal(err)
	}
}
