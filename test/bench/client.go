// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
)

// caller makes one call after the other. It must cost less than what it measures.
type caller interface {
	call() error
	close()
}

// callBody is a call under a fixed number of digits as id, so that its length never changes.
func callBody(size int) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%08d,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello, world","bytes":%d}}}`,
		firstID, size)
}

const firstID = 10_000_000

var idPrefix = []byte(`"id":`)

// numbered writes the id of a body in place.
func numbered(body []byte, id int) {
	at := bytes.Index(body, idPrefix) + len(idPrefix)
	strconv.AppendInt(body[at:at], int64(id), 10)
}

// httpConn is one keep-alive connection over which one request at a time goes: HTTP/1.1 without any of net/http.
type httpConn struct {
	net.Conn
	in *bufio.Reader
	// session is the id that the last answer gave, status its code.
	session string
	status  int
	head    []byte // the first bytes of the last body
}

func dialHTTP(address string) (*httpConn, error) {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	return &httpConn{Conn: c, in: bufio.NewReaderSize(c, 64<<10)}, nil
}

func post(session string, body []byte) []byte {
	head := "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: application/json, text/event-stream\r\n"
	if session != "" {
		head += "Mcp-Session-Id: " + session + "\r\nMcp-Protocol-Version: 2025-11-25\r\n"
	}
	head += fmt.Sprintf("Content-Type: application/json\r\nContent-Length: %d\r\n\r\n", len(body))
	return append([]byte(head), body...)
}

// exchange sends a request and reads the answer to its end; it gives the length of the body.
func (c *httpConn) exchange(request []byte) (int, error) {
	if _, err := c.Write(request); err != nil {
		return 0, err
	}
	length, err := c.headers()
	if err != nil {
		return 0, err
	}
	c.head = c.head[:0]
	if length >= 0 {
		return length, c.body(length)
	}
	total := 0
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return total, err
		}
		n, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 16, 64)
		if err != nil {
			return total, fmt.Errorf("the length of a chunk: %w", err)
		}
		if err := c.body(int(n)); err != nil {
			return total, err
		}
		if _, err := c.in.Discard(2); err != nil || n == 0 {
			return total, err
		}
		total += int(n)
	}
}

// headers reads the status and headers; the length is -1 for a body in chunks.
func (c *httpConn) headers() (length int, err error) {
	for first := true; ; first = false {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if first {
			if len(line) < 12 {
				return 0, fmt.Errorf("not HTTP: %q", line)
			}
			c.status, _ = strconv.Atoi(string(line[9:12])) // 0 is no success either
			continue
		}
		if len(line) == 0 {
			return length, nil
		}
		name, value, _ := bytes.Cut(line, []byte(": "))
		switch {
		case len(name) == 14 && bytes.EqualFold(name, []byte("Content-Length")):
			length, _ = strconv.Atoi(string(value))
		case len(name) == 17 && bytes.EqualFold(name, []byte("Transfer-Encoding")):
			length = -1
		case len(name) == 14 && bytes.EqualFold(name, []byte("Mcp-Session-Id")):
			c.session = string(value)
		}
	}
}

// body reads n bytes and keeps the first.
func (c *httpConn) body(n int) error {
	if room := 256 - len(c.head); room > 0 && n > 0 {
		peeked, err := c.in.Peek(min(n, room))
		if err != nil {
			return err
		}
		c.head = append(c.head, peeked...)
	}
	_, err := c.in.Discard(n)
	return err
}

// httpCaller calls over one connection within a session.
type httpCaller struct {
	*httpConn
	request []byte
	at      int // where the body begins
	id      *ids
	size    int
}

// ids gives ids that no other caller of the session has.
type ids struct{ next, step int }

func (i *ids) take() int {
	i.next += i.step
	return firstID + i.next%(firstID*8)
}

func (c *httpCaller) call() error {
	numbered(c.request[c.at:], c.id.take())
	n, err := c.exchange(c.request)
	if err != nil {
		return err
	}
	if c.status != 200 || n < c.size || !bytes.Contains(c.head, []byte(`"result"`)) {
		return fmt.Errorf("status %d, %d bytes: %s", c.status, n, c.head)
	}
	return nil
}

func (c *httpCaller) close() { _ = c.Close() }

// pipeClient shares the pipes of one server between callers, by the ids of their calls.
type pipeClient struct {
	in  io.WriteCloser
	out *bufio.Reader

	mu      sync.Mutex
	waiting map[int]chan int // by id; receives the length of the answer
	err     error
}

func newPipeClient(in io.WriteCloser, out io.Reader) (*pipeClient, error) {
	c := &pipeClient{in: in, out: bufio.NewReaderSize(out, 16<<20), waiting: map[int]chan int{}}
	for _, message := range []string{initializeBody, initializedBody} {
		if _, err := io.WriteString(in, message+"\n"); err != nil {
			return nil, err
		}
	}
	if _, err := c.out.ReadSlice('\n'); err != nil {
		return nil, err
	}
	go c.read()
	return c, nil
}

func (c *pipeClient) read() {
	for {
		line, err := c.out.ReadSlice('\n')
		c.mu.Lock()
		if err != nil {
			c.err = err
			for _, w := range c.waiting {
				close(w)
			}
			c.mu.Unlock()
			return
		}
		at := bytes.Index(line[:min(len(line), 256)], idPrefix) + len(idPrefix)
		id, _ := strconv.Atoi(string(line[at : at+8]))
		w := c.waiting[id]
		c.mu.Unlock()
		if w != nil {
			w <- len(line)
		}
	}
}

// pipeCaller is one caller of a pipeClient.
type pipeCaller struct {
	client *pipeClient
	line   []byte
	id     *ids
	size   int
	answer chan int
}

func (p *pipeCaller) call() error {
	id := p.id.take()
	numbered(p.line, id)
	p.client.mu.Lock()
	if p.client.err != nil {
		p.client.mu.Unlock()
		return p.client.err
	}
	p.client.waiting[id] = p.answer
	_, err := p.client.in.Write(p.line)
	p.client.mu.Unlock()
	if err != nil {
		return err
	}
	n, ok := <-p.answer
	p.client.mu.Lock()
	delete(p.client.waiting, id)
	p.client.mu.Unlock()
	if !ok || n < p.size {
		return errors.New("the server's answer is too short")
	}
	return nil
}

func (p *pipeCaller) close() {}
