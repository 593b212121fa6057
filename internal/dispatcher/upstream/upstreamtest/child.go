// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package upstreamtest

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"

	"toolgate.dev/toolgate/internal/jsonrpc"
)

// Mood is how a child behaves.
type Mood string

// The moods.
const (
	Good       Mood = "good"         // a legacy server with the tools of toolNames
	Exit       Mood = "exit"         // writes to standard error and exits before its first byte (G-61)
	ExitOnInit Mood = "exit-on-init" // exits instead of answering initialize
	Silent     Mood = "silent"       // reads, and never answers
	ToEnd      Mood = "to-end"       // reads its input to the end before it answers (G-77)
	Endless    Mood = "endless"      // answers a call with a line that never ends (G-65)
	Text       Mood = "text"         // prints a line of text, and reads on
	Echo       Mood = "echo"         // sends back what it reads, as cat does
	Noisy      Mood = "noisy"        // good, with everything on standard output that is not JSON-RPC (G-79)
	Paged      Mood = "paged"        // good, with a list of three pages (G-88)
	CursorLoop Mood = "cursor-loop"  // gives the same cursor for ever
	NoTools    Mood = "no-tools"     // lists nothing
	NoSchema   Mood = "no-schema"    // lists a tool without a schema beside a good one
	BadPage    Mood = "bad-page"     // answers tools/list with an object without tools
	ListsOnce  Mood = "lists-once"   // refuses tools/list from the second time on
	RefuseInit Mood = "refuse-init"  // refuses initialize for a reason of its own
	OldVersion Mood = "old-version"  // answers initialize with an unknown version
	Modern     Mood = "modern"       // speaks 2026-07-28 only
	BothEras   Mood = "both-eras"    // speaks either era, in the same process too
	NamesOne   Mood = "names-one"    // the same, but discover names 2026-07-28 alone, as with the TypeScript SDK
	NoInit     Mood = "no-init"      // modern, and ends when it reads initialize
	Fragile    Mood = "fragile"      // good, but exits at server/discover
	// The next two tell of changes and updates, in either era.
	ModernTelling Mood = "modern-telling"
	Telling       Mood = "telling"
	Deaf          Mood = "deaf"         // stops reading after initialize (G-77)
	HangList      Mood = "hang-list"    // never answers tools/list, and says why on standard error
	HugePage      Mood = "huge-page"    // lists more on one page than a page may hold
	Chatty        Mood = "chatty"       // reports a change at each tools/list (G-59)
	StdoutShut    Mood = "stdout-shut"  // closes its standard output at the first call, and lives on
	Orphan        Mood = "orphan"       // at the first call exits, while a descendant holds its pipes
	AskAtStart    Mood = "ask-at-start" // asks for roots, a sample and an elicitation once initialised
	NoPing        Mood = "no-ping"      // never answers ping
	Undeclared    Mood = "undeclared"   // declares no capability, and refuses tools/list
	ListsOnly     Mood = "lists"        // has resources and prompts too
	NullIDError   Mood = "null-id"      // answers calls with an error whose id is null
)

// toolNames are those of a good server. What each does is in call.
var toolNames = []string{"echo", "big", "die", "hang", "cancelled", "ask", "ask-cancel", "progress", "grow", "broken", "half", "log"}

type server struct {
	mood  Mood
	out   *bufio.Writer
	tools []string
	mu    sync.Mutex
	seen  []string // ids of cancelled calls
	waits map[string]chan jsonrpc.Message
	lists int
	feeds feeds
}

// child is the whole life of a child. It returns its exit status.
func child(mood Mood) int {
	s := &server{mood: mood, out: bufio.NewWriter(os.Stdout), tools: toolNames, waits: map[string]chan jsonrpc.Message{}}
	switch mood {
	case Exit:
		fmt.Fprintln(os.Stderr, "cannot find the database")
		return 3
	case Text:
		s.raw("Usage: server [options]\n")
	case Echo:
		_, _ = io.Copy(os.Stdout, os.Stdin)
		return 0
	case ToEnd:
		input, _ := io.ReadAll(os.Stdin)
		for line := range bytes.Lines(input) {
			s.take(line)
		}
		return 0
	case Noisy:
		s.raw("Starting the server...\n\x1b[32mready\x1b[0m\n\n{\"level\":\"info\",\"msg\":\"listening\"}\n{\"half\": \n[1,2]\n\"text\"\nnull\n")
	default: // the others say nothing on their own
	}
	in := bufio.NewReaderSize(os.Stdin, 1<<16)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return 0
		}
		if code, ended := s.take(line); ended {
			return code
		}
	}
}

func (s *server) take(line []byte) (code int, ended bool) {
	m, err := jsonrpc.Parse(line, jsonrpc.Limits{MaxBytes: 64 << 20})
	if err != nil || bytes.ContainsAny(bytes.TrimSuffix(line, []byte("\n")), "\r\n") {
		fmt.Fprintln(os.Stderr, "not a message:", err)
		return 9, true
	}
	m = m.Clone()
	switch {
	case s.mood == Silent || s.mood == Text:
	case m.Kind == jsonrpc.Response:
		s.mu.Lock()
		wait := s.waits[m.ID.String()]
		s.mu.Unlock()
		if wait != nil {
			wait <- m
		}
	case m.Kind == jsonrpc.Notification:
		s.notification(&m)
	case m.Method == "tools/call":
		switch s.mood {
		case Orphan:
			return orphan(), true
		case Endless:
			return endless(), true
		default: // the others answer
		}
		go s.call(m)
	default:
		return s.request(&m)
	}
	return 0, false
}

func endless() int {
	for {
		if _, err := os.Stdout.Write(bytes.Repeat([]byte("x"), 1<<16)); err != nil {
			return 6
		}
	}
}

func orphan() int {
	cmd := exec.CommandContext(context.Background(), "sleep", "600")
	cmd.Stdout, cmd.Stdin = os.Stdout, os.Stdin
	if err := cmd.Start(); err != nil {
		return 8
	}
	return 7
}

func (s *server) notification(m *jsonrpc.Message) {
	switch {
	case m.Method == "notifications/cancelled":
		s.mu.Lock()
		s.seen = append(s.seen, string(m.Param("requestId")))
		s.mu.Unlock()
		s.closed(m.Param("requestId"))
	case m.Method == "notifications/initialized" && s.mood == AskAtStart:
		go func() {
			s.ask("a", "roots/list", `{}`)
			s.ask("b", "sampling/createMessage", `{}`)
			s.ask("c", "elicitation/create", `{}`)
		}()
	}
}

func (s *server) request(m *jsonrpc.Message) (code int, ended bool) {
	switch m.Method {
	case "initialize":
		return s.initialize(m)
	case "server/discover":
		if s.mood == Fragile {
			fmt.Fprintln(os.Stderr, "what is server/discover?")
			return 1, true
		}
		if slices.Contains([]Mood{Modern, ModernTelling, BothEras, NamesOne, NoInit}, s.mood) {
			capabilities := `{"tools":{}}`
			if s.mood == ModernTelling {
				capabilities = `{"tools":{"listChanged":true},"resources":{"subscribe":true}}`
			}
			versions := `["2026-07-28"]`
			if s.mood == BothEras {
				versions = `["2026-07-28","2025-11-25"]`
			}
			s.reply(m.ID, `{"resultType":"complete","supportedVersions":`+versions+`,"capabilities":`+capabilities+`,"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"m","version":"2"}}}`)
			return 0, false
		}
	case "ping":
		if s.mood != NoPing {
			s.reply(m.ID, `{}`)
		}
		return 0, false
	case "tools/list":
		s.list(m)
		return 0, false
	case "resources/list", "prompts/list":
		kind, _, _ := strings.Cut(m.Method, "/")
		s.reply(m.ID, `{"`+kind+`":[{},{},{}]}`)
		return 0, false
	}
	if !s.subscription(m) {
		s.refuse(m.ID, -32601, "Method not found")
	}
	return 0, false
}

func (s *server) initialize(m *jsonrpc.Message) (code int, ended bool) {
	version, capabilities := string(m.Param("protocolVersion")), `{"tools":{"listChanged":true}}`
	switch s.mood {
	case NoInit:
		return 1, true
	case ExitOnInit:
		fmt.Fprintln(os.Stderr, "no token in the environment")
		return 1, true
	case RefuseInit:
		s.refuse(m.ID, -32603, "no database")
		return 0, false
	case Modern, ModernTelling:
		s.refuse(m.ID, -32601, "Method not found")
		return 0, false
	case Telling:
		capabilities = `{"tools":{"listChanged":true},"resources":{"subscribe":true}}`
	case OldVersion:
		version = `"1999-01-01"`
	case Undeclared:
		capabilities = `{}`
	case ListsOnly:
		capabilities = `{"tools":{},"resources":{},"prompts":{}}`
	default: // the others answer as a good server does
	}
	s.reply(m.ID, `{"protocolVersion":`+version+`,"capabilities":`+capabilities+`,"serverInfo":{"name":"child","version":"1.2.3"},"instructions":"be \"good\"","_meta":{"x":1}}`)
	if s.mood == Deaf {
		_ = syscall.Pause() // not select {}: with no goroutine left, the runtime would end the process
	}
	return 0, false
}

func (s *server) list(m *jsonrpc.Message) {
	s.mu.Lock()
	tools := s.tools
	s.lists++
	again := s.lists > 1
	s.mu.Unlock()
	cursor, _ := jsonrpc.String(m.Param("cursor"))
	switch s.mood {
	case NoTools:
		tools = nil
	case BadPage:
		s.reply(m.ID, `{"tolls":[]}`)
		return
	case Undeclared:
		s.refuse(m.ID, -32601, "Method not found")
		return
	case ListsOnce:
		if again {
			s.refuse(m.ID, -32603, "no database")
			return
		}
	case HangList:
		fmt.Fprintln(os.Stderr, "waiting for the index")
		return
	case HugePage:
		s.reply(m.ID, `{"tools":[{"name":"huge","description":"`+strings.Repeat("x", 17<<20)+`","inputSchema":{"type":"object"}}]}`)
		return
	case Modern, ModernTelling:
		s.reply(m.ID, `{"resultType":"complete","ttlMs":20000,"cacheScope":"public","tools":[`+tool("echo")+`]}`)
		return
	case NoSchema:
		s.reply(m.ID, `{"tools":[{"name":"bare"},{"name":"echo","inputSchema":{"type":"object"}}]}`)
		return
	case CursorLoop:
		s.reply(m.ID, `{"tools":[],"nextCursor":"again"}`)
		return
	case Paged:
		page := map[string]string{"": `"nextCursor":"two",`, "two": `"nextCursor":"three",`, "three": ``}[cursor]
		s.reply(m.ID, `{`+page+`"tools":[`+tool("tool"+cursor)+`]}`)
		return
	case Chatty:
		s.send(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	default: // the others list their tools
	}
	defs := make([]string, len(tools))
	for i, name := range tools {
		defs[i] = tool(name)
	}
	s.reply(m.ID, `{"tools":[`+strings.Join(defs, ",")+`]}`)
}

func tool(name string) string {
	return `{"name":"` + name + `","inputSchema":{"type":"object"}}`
}

// raw writes text as it is.
func (s *server) raw(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = s.out.WriteString(text)
	_ = s.out.Flush()
}

func (s *server) send(message string) {
	if s.mood == Noisy {
		s.raw("\x1b[2mdebug: about to write\x1b[0m\r\n\xef\xbb\xbf\x1b[0m " + message + "\r\n{\"level\":\"debug\"}\n")
		return
	}
	s.raw(message + "\n")
}

func (s *server) reply(id jsonrpc.ID, result string) {
	s.send(string(jsonrpc.AppendResponse(nil, id, []byte(result))))
}

func (s *server) refuse(id jsonrpc.ID, code int64, message string) {
	s.send(string(jsonrpc.AppendError(nil, id, &jsonrpc.Error{Code: code, Message: message})))
}

// ask sends a request to the client and returns its answer, a result or an error, as JSON.
func (s *server) ask(id, method, params string) string {
	raw := id
	if id[0] > '9' {
		raw = `"` + id + `"`
	}
	wait := make(chan jsonrpc.Message, 1)
	s.mu.Lock()
	s.waits[raw] = wait
	s.mu.Unlock()
	s.send(`{"jsonrpc":"2.0","id":` + raw + `,"method":"` + method + `","params":` + params + `}`)
	m := <-wait
	if m.Error != nil {
		return fmt.Sprintf(`{"error":%d}`, m.Error.Code)
	}
	return string(m.Result)
}

func die() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL) }
