// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package scripted

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"sync"
)

// Argument is the first one of a test binary that is to be a scripted server.
const Argument = "scripted-mcp-server"

// Command gives the command line of a child.
func Command(binary string, o Options) []string {
	return []string{binary, Argument, "-tools", o.Tools, "-log", o.Log, "-mood", string(o.Mood)}
}

// Main is the whole life of a child whose arguments follow Argument. It returns the exit status.
func Main(args []string) int {
	var o Options
	flags := flag.NewFlagSet(Argument, flag.ContinueOnError)
	flags.StringVar(&o.Tools, "tools", "", "file with the tools")
	flags.StringVar(&o.Log, "log", "", "folder for logs")
	flags.StringVar((*string)(&o.Mood), "mood", string(Good), "mood")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if o.Mood == ExitFirst {
		fmt.Fprintln(os.Stderr, "reading the configuration\nthere is no database at 127.0.0.1:5432")
		return 3
	}
	s, err := New(o)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	out := &lines{w: os.Stdout}
	s.exit, s.tell = os.Exit, out.write
	if o.Mood == Chatter {
		out.write([]byte("Welcome to the server!\nUsage: server [options]\n> "))
	}
	if o.Mood == LogLines {
		out.noise = []byte("2026-01-02 INFO about to answer\r\n{\"level\":\"info\",\"msg\":\"request\"}\n")
	}
	if err := s.serve(os.Stdin, out); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// serve answers each line in a goroutine of its own, until there are no more.
func (s *Server) serve(in io.Reader, out *lines) error {
	reader := bufio.NewReaderSize(in, 1<<16)
	for {
		line, err := reader.ReadBytes('\n')
		if noteErr := s.note(line); noteErr != nil {
			return noteErr
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		go func() {
			if reply := s.answer(line); reply != nil {
				out.write(reply)
			}
		}()
	}
}

// lines writes messages, one a line.
type lines struct {
	noise []byte // before each message
	mu    sync.Mutex
	w     io.Writer
}

func (l *lines) write(message []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = l.w.Write(append(append(l.noise[:len(l.noise):len(l.noise)], message...), '\n')) // a reader that has gone shows in its own test
}
