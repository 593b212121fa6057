// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package streamable

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/link"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/origin"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/sse"
	"toolgate.dev/toolgate/internal/mcp"
	"toolgate.dev/toolgate/internal/registry"
)

const (
	byteOrderMark = "\xef\xbb\xbf"
	// sniffBytes are looked at to tell JSON from an event stream.
	sniffBytes = 64
	// afterAnswer is how long a stream may go on once it has brought the answer.
	afterAnswer = time.Second
	// The delays before a stream is opened again, where the server names none, and how often that is tried in a row
	// without a new event.
	firstDelay = time.Second
	mostDelay  = 30 * time.Second
	maxResumes = 5
	// shortestDelay keeps a server that closes its streams at once, and wishes for no delay, from being asked in a loop.
	shortestDelay = 100 * time.Millisecond
)

// Exchange posts a request. A JSON answer is read here, an event stream in a goroutine of its own.
func (w *wire) Exchange(ctx context.Context, p *link.Call, message []byte) error {
	headers, err := w.mirror(ctx, p)
	if err != nil {
		return err
	}
	streaming, cancel := context.WithCancel(w.conn.Context())
	stop := context.AfterFunc(ctx, cancel)
	p.Leave = func() {
		stop()
		if !p.Settled() {
			cancel()
		}
	}
	p.MarkSent()
	resp, err := w.send(streaming, http.MethodPost, message, headers) //nolint:contextcheck // ends with ctx, until the answer has come
	if err != nil {
		cancel()
		return w.broken(ctx, err)
	}
	body := readers.Get().(*bufio.Reader)
	body.Reset(resp.Body)
	if resp.StatusCode == http.StatusOK && isStream(resp, body) {
		if err := w.adopt(resp, p); err != nil {
			cancel()
			return errors.Join(err, resp.Body.Close())
		}
		go w.follow(streaming, cancel, p, resp.Body, body) //nolint:contextcheck // as above
		return nil
	}
	defer cancel()
	defer resp.Body.Close() //nolint:errcheck // what matters was read
	defer func() {
		body.Reset(nil)
		readers.Put(body) // a stream keeps its own
	}()
	if resp.StatusCode != http.StatusOK {
		return w.refused(resp, p)
	}
	if err := w.adopt(resp, p); err != nil {
		return err
	}
	return w.document(ctx, body, p)
}

// readers are for answers that are no streams: their memory would be most of what such an answer takes.
var readers = sync.Pool{New: func() any { return bufio.NewReader(nil) }}

// texts are for answers while they are read; a longer one must not hold its memory.
var texts = sync.Pool{New: func() any { return new(bytes.Buffer) }}

const maxPooled = 64 << 10

// adopt takes the session id that the answer to initialize may carry.
func (w *wire) adopt(resp *http.Response, p *link.Call) error {
	if p.Method != mcp.MethodInitialize {
		return nil
	}
	id := resp.Header.Get(mcp.HeaderSession)
	if id == "" {
		return nil
	}
	if len(id) > maxSessionLength || strings.IndexFunc(id, func(r rune) bool { return r <= ' ' || r > '~' }) >= 0 {
		return upstream.Fail(registry.FailNotMCP, nil, "The server's %s is too long or has characters other than visible ASCII.", mcp.HeaderSession)
	}
	w.session.Store(&id)
	return nil
}

// isStream tells an event stream from JSON by its first bytes, and by its label only where they do not say: servers label
// one as the other.
func isStream(resp *http.Response, body *bufio.Reader) bool {
	head := sniff(body, 1)
	switch {
	case len(head) == 0, head[0] == '{', head[0] == '[':
		return false
	case origin.HasType(resp.Header.Get("Content-Type"), streamType):
		return true
	}
	head = sniff(body, len("event:"))
	for _, field := range []string{"data:", "event:", "id:", "retry:", ":"} {
		if bytes.HasPrefix(head, []byte(field)) {
			return true
		}
	}
	return false
}

// sniff returns at least want bytes that follow the white space at the beginning, unless there are none soon or at all.
func sniff(body *bufio.Reader, want int) []byte {
	for n := 1; ; n++ {
		got, err := body.Peek(max(n, min(body.Buffered(), sniffBytes)))
		head := bytes.TrimLeft(bytes.TrimPrefix(got, []byte(byteOrderMark)), " \t\r\n")
		partial := len(got) < len(byteOrderMark) && strings.HasPrefix(byteOrderMark, string(got))
		if err != nil || len(got) >= sniffBytes || len(head) >= want && !partial {
			return head
		}
	}
}

// document takes an answer that is one JSON text.
func (w *wire) document(ctx context.Context, body io.Reader, p *link.Call) error {
	limit := w.MaxMessageBytes
	text := texts.Get().(*bytes.Buffer)
	defer func() {
		if text.Cap() <= maxPooled {
			text.Reset()
			texts.Put(text)
		}
	}()
	_, err := text.ReadFrom(io.LimitReader(body, int64(limit)+1))
	data := text.Bytes() // of which nothing is kept: Receive copies
	switch {
	case err != nil:
		return w.broken(ctx, err)
	case len(data) > limit:
		return link.TooLarge(p.Method, limit)
	case len(bytes.TrimSpace(data)) == 0:
		return upstream.Fail(registry.FailNotMCP, nil, "The server answered %s with an empty body.", p.Method)
	}
	if !w.conn.Receive(bytes.TrimPrefix(data, []byte(byteOrderMark)), p) { //nolint:contextcheck // what the server asks outlives the call
		return upstream.Fail(registry.FailNotMCP, upstream.ErrNotStrict, "The server's answer to %s is neither strict JSON-RPC nor an event stream.", p.Method)
	}
	if !p.Settled() {
		return upstream.Fail(registry.FailNotMCP, nil, "The server answered %s with a message that is not the answer to it.", p.Method)
	}
	return nil
}

// follow takes the event stream that answers p, and picks it up again where it breaks.
func (w *wire) follow(ctx context.Context, cancel context.CancelFunc, p *link.Call, closer io.Closer, body io.Reader) {
	defer cancel()
	lastID, failures := "", 0
	for {
		s := &stream{wire: w, call: p, reader: sse.NewReader(body, w.MaxMessageBytes), finish: cancel}
		err := s.read()                                      //nolint:contextcheck // what the server asks outlives the call
		if closer.Close(); ctx.Err() != nil || p.Settled() { //nolint:errcheck // the stream is over
			return
		}
		if errors.Is(err, sse.ErrTooLarge) {
			w.conn.Settle(p, link.Answer{Err: link.TooLarge(p.Method, w.MaxMessageBytes)})
			return
		}
		if failures++; s.events > 0 {
			failures = 0
		}
		if lastID = cmp.Or(s.reader.LastID(), lastID); lastID == "" || w.modern() || failures >= maxResumes {
			w.conn.Settle(p, link.Answer{Err: upstream.Fail(registry.FailNotMCP, err, "The server's stream ended before the answer to %s.", p.Method)})
			return
		}
		if body, closer, err = w.resume(ctx, lastID, s.delay(failures)); err != nil {
			w.conn.Settle(p, link.Answer{Err: upstream.AsError(w.broken(ctx, err), registry.FailNotMCP)})
			return
		}
	}
}

// resume opens the stream again from the event after lastID (MCP 2025-11-25, Resumability and Redelivery). A server that
// does not answer counts as an empty stream.
func (w *wire) resume(ctx context.Context, lastID string, delay time.Duration) (io.Reader, io.Closer, error) {
	if err := pause(ctx, delay); err != nil {
		return nil, nil, err
	}
	resp, err := w.send(ctx, http.MethodGet, nil, map[string]string{mcp.HeaderLastEvent: lastID})
	if err != nil {
		if ctx.Err() != nil {
			return nil, nil, err
		}
		return strings.NewReader(""), io.NopCloser(nil), nil
	}
	body := bufio.NewReader(resp.Body)
	if resp.StatusCode == http.StatusOK && isStream(resp, body) {
		return body, resp.Body, nil
	}
	defer resp.Body.Close() //nolint:errcheck // what matters was read
	return nil, nil, cmp.Or[error](w.refused(resp, nil), errors.New("no stream"))
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// stream reads the events of one response.
type stream struct {
	wire   *wire
	call   *link.Call // whose answer the stream brings; nil for the stream of GET
	reader *sse.Reader
	finish func() // ends the request
	events int
}

// read takes events until the stream ends, or a little after it has brought the answer.
func (s *stream) read() error {
	answered := false
	for {
		event, err := s.reader.Next()
		if err != nil {
			return err
		}
		s.events++
		s.take(event)
		if s.call != nil && !answered && s.call.Settled() {
			answered = true
			timer := time.AfterFunc(afterAnswer, s.finish)
			defer timer.Stop()
		}
	}
}

func (s *stream) take(event sse.Event) {
	c := s.wire.conn
	switch {
	case len(event.Data) == 0: // only an id, to resume from
	case event.Name != "" && event.Name != "message":
		c.Drop("an event of another name")
	case !c.Receive(event.Data, s.call):
		c.Drop("an event that is no message")
	}
}

// delay is how long to wait before the stream is opened again.
func (s *stream) delay(failures int) time.Duration {
	d := s.reader.Retry()
	if d < 0 {
		d = firstDelay << min(failures, 8)
	}
	return max(shortestDelay, min(d, mostDelay))
}

// Tell posts a notification or an answer of the client, which the server only accepts.
func (w *wire) Tell(ctx context.Context, message []byte) error {
	limited, cancel := context.WithTimeout(ctx, w.StartTimeout)
	defer cancel()
	resp, err := w.send(limited, http.MethodPost, message, nil) //nolint:bodyclose // Discard closes it
	if err != nil {
		return w.broken(ctx, err)
	}
	defer origin.Discard(resp)
	if resp.StatusCode >= 200 && resp.StatusCode < 300 {
		return nil
	}
	return w.refused(resp, nil)
}
