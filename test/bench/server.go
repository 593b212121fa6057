// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"toolgate.dev/toolgate/internal/jsonrpc"
)

// echo is the MCP server behind everything that is measured: it does as little as a server can.
type echo struct {
	tools []byte // the result of tools/list

	mu      sync.Mutex
	results map[int64][]byte // by the size that was asked for
}

// definitions are n tools. The first is the one that is called; the others are there to be listed.
func definitions(n int) []string {
	defs := []string{`{"name":"echo","description":"Gives back as many bytes as it is asked for.","inputSchema":{"type":"object",` +
		`"properties":{"text":{"type":"string","maxLength":4096},"bytes":{"type":"integer","minimum":0}},"required":["text","bytes"],"additionalProperties":false},` +
		`"outputSchema":{"type":"object","properties":{"bytes":{"type":"integer"}},"required":["bytes"]},"annotations":{"readOnlyHint":true}}`}
	for i := 1; i < n; i++ {
		defs = append(defs, fmt.Sprintf(`{"name":"tool-%04d","description":%q,"inputSchema":{"$schema":"http://json-schema.org/draft-07/schema#","type":"object",`+
			`"properties":{"path":{"type":"string","minLength":1,"description":%q},"mode":{"enum":["read","write"]},"limit":{"type":"integer","minimum":0}},`+
			`"required":["path"],"additionalProperties":false},"annotations":{"readOnlyHint":true}}`, i, strings.Repeat("Does a thing. ", 10), strings.Repeat("Where it is. ", 5)))
	}
	return defs
}

func newEcho(tools string) (*echo, error) {
	n, err := strconv.Atoi(tools)
	if err != nil {
		return nil, fmt.Errorf("the number of tools: %w", err)
	}
	return &echo{tools: []byte(`{"tools":[` + strings.Join(definitions(n), ",") + `]}`), results: map[int64][]byte{}}, nil
}

// answer appends the answer to a request to dst; nothing to a notification.
func (e *echo) answer(dst, request []byte) ([]byte, error) {
	m, err := jsonrpc.Parse(request, jsonrpc.Limits{})
	if err != nil {
		return dst, err
	}
	if m.Kind != jsonrpc.Request {
		return dst, nil
	}
	switch m.Method {
	case "initialize":
		return jsonrpc.AppendResponse(dst, m.ID, []byte(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"bench","version":"1"}}`)), nil
	case "tools/list":
		return jsonrpc.AppendResponse(dst, m.ID, e.tools), nil
	case "tools/call":
		raw, _ := jsonrpc.Member(m.Param("arguments"), "bytes")
		size, _ := jsonrpc.Int(raw)
		return jsonrpc.AppendResponse(dst, m.ID, e.result(size)), nil
	case "ping":
		return jsonrpc.AppendResponse(dst, m.ID, []byte("{}")), nil
	default:
		return jsonrpc.AppendError(dst, m.ID, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "Method not found"}), nil
	}
}

func (e *echo) result(size int64) []byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.results[size] == nil {
		text := strings.Repeat("0123456789abcde ", int(size)/16)
		e.results[size] = fmt.Appendf(nil, `{"content":[{"type":"text","text":%q}],"structuredContent":{"bytes":%d}}`, text, size)
	}
	return e.results[size]
}

// serveStdio answers line by line, in order, and writes once for all lines that came at once.
func serveStdio(args []string) error {
	if len(args) != 1 {
		return errors.New(roleStdio + " wants the number of tools")
	}
	e, err := newEcho(args[0])
	if err != nil {
		return err
	}
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	var out []byte
	for {
		line, err := in.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		before := len(out)
		if out, err = e.answer(out, bytes.TrimRight(line, "\r\n")); err != nil {
			return err
		}
		if len(out) > before {
			out = append(out, '\n')
		}
		if in.Buffered() > 0 && len(out) < 1<<20 {
			continue
		}
		if _, err := os.Stdout.Write(out); err != nil {
			return err
		}
		out = out[:0]
	}
}

// serveHTTP answers in JSON and keeps no sessions.
func serveHTTP(ctx context.Context, args []string) error {
	if len(args) != 2 {
		return errors.New(roleHTTP + " wants an address and the number of tools")
	}
	e, err := newEcho(args[1])
	if err != nil {
		return err
	}
	return listenAndServe(ctx, args[0], http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		answer, err := e.answer(nil, body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		if answer == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer) // a client that has gone needs no answer
	}))
}

func listenAndServe(ctx context.Context, address string, h http.Handler) error {
	s := &http.Server{Addr: address, Handler: h, ReadHeaderTimeout: time.Minute}
	stop := context.AfterFunc(ctx, func() { _ = s.Close() }) // the process ends
	defer stop()
	if err := s.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
