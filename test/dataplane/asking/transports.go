// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package asking

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Argument is the first one of a test binary that is to be such a server over stdio.
const Argument = "asking-mcp-server"

// Command gives the command line of a child, which notes in a file which tools ran to their end.
func Command(binary string, era Era, log string) []string {
	return []string{binary, Argument, string(era), log}
}

// Main is the whole life of a child whose arguments follow Argument. It returns the exit status.
func Main(args []string) int {
	era, log := Era(args[0]), args[1]
	s := NewServer(func(tool string) {
		file, err := os.OpenFile(log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = file.WriteString(tool + "\n")
			err = errors.Join(err, file.Close())
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	})
	reader, writer := io.Pipe()
	out := &output{Writer: os.Stdout}
	go filter(era, os.Stdin, writer, out)
	if err := s.Run(context.Background(), &mcp.IOTransport{Reader: reader, Writer: out}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// output is standard output, written by one at a time.
type output struct {
	io.Writer
	mu sync.Mutex
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.Writer.Write(p)
}

// Close does nothing: the process ends with its input.
func (o *output) Close() error { return nil }

// filter passes lines on, but for those of the other era, which it refuses as servers do that know one alone.
func filter(era Era, in io.Reader, to *io.PipeWriter, out io.Writer) {
	reader := bufio.NewReader(in)
	for {
		line, err := reader.ReadBytes('\n')
		if err != nil {
			_ = to.CloseWithError(err) // never fails
			return
		}
		if refusal := refuse(era, line); refusal != nil {
			_, err = out.Write(append(refusal, '\n'))
		} else {
			_, err = to.Write(line)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return
		}
	}
}

// refuse gives the answer to the first message of the other era, nil where there is nothing to refuse.
func refuse(era Era, message []byte) []byte {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	other := map[Era]string{Legacy: "server/discover", Modern: "initialize"}[era]
	if json.Unmarshal(message, &m) != nil || m.Method != other {
		return nil
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`, m.ID)
}

// Handler serves a server over streamable HTTP.
func Handler(s *mcp.Server, era Era) http.Handler {
	next := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{
		Stateless: era == Modern, PropagateRequestCancellation: true,
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if refusal := refuse(era, body); refusal != nil {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write(refusal) // a client that has gone needs no answer
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	})
}
