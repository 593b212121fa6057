// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package scripted

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
)

// Mood is how a server behaves.
type Mood string

// The moods.
const (
	Good      Mood = "good"
	ExitFirst Mood = "exit"      // exits before it has read a byte
	Chatter   Mood = "chatter"   // prints text, and answers nothing
	LogLines  Mood = "log-lines" // good, with log lines on its standard output
	HangInit  Mood = "hang-init" // never answers initialize
	HangList  Mood = "hang-list" // never answers tools/list
	DieInList Mood = "die-in-list"
)

// Options of a Server.
type Options struct {
	// Tools is a file with `{"tools":[…]}`, read at each tools/list; its line breaks are sent as spaces.
	Tools string
	// Log is a folder: each process keeps a file there of what it reads. Tools named hang answer once a file named release
	// is there.
	Log  string
	Mood Mood
	// Lines says that messages may hold line breaks, as they may over HTTP.
	Lines bool
	// Stream says that answers over HTTP are event streams.
	Stream bool
}

// Server answers messages.
type Server struct {
	Options
	// tell sends a notification; nil where there is no way to.
	tell func(message []byte)
	exit func(code int)

	changes, counted atomic.Int64

	mu   sync.Mutex
	read *os.File
}

// New gives a server that writes what it reads to a file of its own.
func New(o Options) (*Server, error) {
	read, err := os.CreateTemp(o.Log, fmt.Sprintf("%d-*.read", os.Getpid()))
	if err != nil {
		return nil, fmt.Errorf("making the log of what is read: %w", err)
	}
	return &Server{Options: o, read: read}, nil
}

// note writes down what was read, before anything else happens with it.
func (s *Server) note(data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.read.Write(data)
	return err
}

// message is what a server reads of a request.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		ProtocolVersion json.RawMessage `json:"protocolVersion"`
		Name            string          `json:"name"`
		Arguments       json.RawMessage `json:"arguments"`
	} `json:"params"`
}

// answer gives the answer to a message, nil where there is none.
func (s *Server) answer(data []byte) []byte {
	var m message
	if err := json.Unmarshal(data, &m); err != nil || m.ID == nil || m.Method == "" {
		return nil
	}
	result := s.result(&m)
	if result == nil {
		return nil
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,%s}`, m.ID, result)
}

func ok(result []byte) []byte { return append([]byte(`"result":`), result...) }

func failed(code int, text string) []byte {
	return fmt.Appendf(nil, `"error":{"code":%d,"message":%s}`, code, strconv.Quote(text))
}

func (s *Server) result(m *message) []byte {
	switch {
	case m.Method == "initialize" && s.Mood == HangInit, m.Method == "tools/list" && s.Mood == HangList, s.Mood == Chatter:
		return nil
	case m.Method == "tools/list" && s.Mood == DieInList:
		fmt.Fprintln(os.Stderr, "the disk is full")
		s.exit(4)
		return nil
	}
	switch m.Method {
	case "initialize":
		return ok(fmt.Appendf(nil, `{"protocolVersion":%s,"capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"scripted","version":"1.0.0"}}`,
			m.Params.ProtocolVersion))
	case "ping":
		return ok([]byte("{}"))
	case "tools/list":
		return s.list()
	case "tools/call":
		return s.call(m.Params.Name, m.Params.Arguments)
	default:
		return failed(-32601, "Method not found")
	}
}

func (s *Server) list() []byte {
	definitions, err := Definitions(s.Tools)
	if err != nil {
		return failed(-32603, err.Error())
	}
	list := []byte(`{"tools":[`)
	for i, d := range definitions {
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, s.changed(d)...)
	}
	return ok(append(list, "]}"...))
}

// changed gives a definition as it is after the changes that were asked for.
func (s *Server) changed(definition []byte) []byte {
	n := s.changes.Load()
	if n == 0 {
		return definition
	}
	return fmt.Appendf(nil, `{"x-change":%d,%s`, n, definition[1:])
}

// Definitions reads the tools of a file, in the bytes that a server sends: line breaks are spaces.
func Definitions(file string) ([]json.RawMessage, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var list struct {
		Tools []json.RawMessage `json:"tools"`
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for i := range list.Tools {
		for j, b := range list.Tools[i] {
			if b == '\n' || b == '\r' {
				list.Tools[i][j] = ' '
			}
		}
	}
	return list.Tools, nil
}

// Release is the file whose being there lets calls of hang return.
func Release(log string) string { return filepath.Join(log, "release") }
