// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package stdio connects to a server over the pipes of a child process (MCP, Transports, stdio).
//
// It owns the framing by lines, what to make of a standard output that is not only JSON-RPC, back-pressure towards a child
// that does not read, and the end of a child. Processes come through upstream.Spawner; it never imports the launcher.
package stdio

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"regexp"
	"strconv"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/handshake"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/line"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/link"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/outbox"
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/registry"
)

const (
	// lastWords is how long a connection waits for the other sign of a child's end when it has seen one: for the rest of
	// the output after the exit, and for how the child ended after the end of the output.
	lastWords = 500 * time.Millisecond
)

// New returns a Dialer whose connections are one fresh child each (MCP, Transports, stdio).
func New(spawner upstream.Spawner, opts upstream.Options, log *slog.Logger) upstream.Dialer {
	return &dialer{Dialer: link.Dialer{Options: opts.WithDefaults(), Log: log}, spawner: spawner}
}

type dialer struct {
	link.Dialer
	spawner upstream.Spawner
}

func (d *dialer) Dial(ctx context.Context, hello upstream.Hello, handler upstream.Handler) (upstream.Conn, error) {
	conn, err := d.start(ctx, hello, handler)
	if errors.Is(err, handshake.ErrEndedInDiscover) && ctx.Err() == nil {
		hello.Prefers = upstream.Legacy
		if conn, err = d.start(ctx, hello, handler); err == nil {
			d.Eras.NeverDiscover()
		}
	}
	return conn, err
}

// start starts a child and speaks to it.
func (d *dialer) start(ctx context.Context, hello upstream.Hello, handler upstream.Handler) (upstream.Conn, error) {
	if err := d.Closed(); err != nil {
		return nil, err
	}
	spawning, cancel := context.WithTimeout(ctx, d.StartTimeout)
	defer cancel()
	process, err := d.spawner.Spawn(spawning)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	default:
		var e *upstream.Error
		if errors.As(err, &e) {
			return nil, e
		}
		if upstream.NotListening(err) {
			return nil, upstream.Fail(registry.FailStart, err, "The container of the server is not there, so its command can't be started: %s.", err)
		}
		return nil, upstream.Fail(registry.FailStart, err, "The server's command could not be started: %s.", err)
	}
	d.Counters.ChildStarts.Add(1)
	w := &wire{dialer: d, process: process}
	w.conn = d.New(hello, handler, w)
	w.out = outbox.New(w.conn, d.Counters)
	w.direct.to(process.Stdin())
	go w.read() //nolint:contextcheck // the connection lives on after its caller
	go w.write()
	return d.Start(ctx, w.conn)
}

// wire is one child. Reader and writer are goroutines of their own, so that neither a child that does not read nor
// one that does not write can hold up the other direction.
type wire struct {
	*dialer
	conn    *link.Conn
	process upstream.Process
	out     *outbox.Outbox
	batch   []byte // of the writer: memory for what is written at once
	direct  direct
}

func (w *wire) Leaves(upstream.Era) bool { return false }
func (w *wire) Agree(upstream.Info)      {}
func (w *wire) Vet([]byte) error         { return nil }
func (w *wire) Stderr() []string         { return w.process.StderrTail() }

// Exchange writes at once where nothing else is under way. Otherwise messages gather before the writer, which then wakes the
// child once for several.
func (w *wire) Exchange(ctx context.Context, p *link.Call, message []byte) error {
	data := lines(message)
	if w.conn.Alone() && w.direct.write(data) {
		p.MarkSent()
		return nil
	}
	return w.queue(func() error { return w.out.Exchange(ctx, p, data) })
}

func (w *wire) Tell(ctx context.Context, message []byte) error {
	return w.queue(func() error { return w.out.Tell(ctx, lines(message)) })
}

func (w *wire) Flush(ctx context.Context) error {
	var reached <-chan struct{}
	if err := w.queue(func() (err error) { reached, err = w.out.Mark(ctx); return err }); err != nil {
		return err
	}
	return w.out.Await(ctx, reached)
}

// queue hands a message to the writer, which counts it off once it is written.
func (w *wire) queue(send func() error) error {
	w.direct.queued.Add(1)
	err := send()
	if err != nil {
		w.direct.queued.Add(-1)
	}
	return err
}

// lines frames a message: no line break inside, one at its end.
func lines(message []byte) []byte {
	if bytes.ContainsAny(message, "\r\n") {
		message = jsonrpc.AppendCompactLines(make([]byte, 0, len(message)+1), message)
	}
	return append(message, '\n')
}

// write sends what is queued and still wanted.
func (w *wire) write() {
	for {
		select {
		case f := <-w.out.Frames():
			if err := w.writeAll(f); err != nil {
				w.Log.Debug("the child does not take input", "err", err)
				w.hurry()
				return
			}
		case <-w.conn.Done():
			return
		}
	}
}

// writeAll writes a frame and those that wait behind it.
func (w *wire) writeAll(f outbox.Frame) error {
	w.direct.writing.Lock()
	defer w.direct.writing.Unlock()
	data, last, frames := w.gather(f)
	defer w.direct.queued.Add(-frames)
	if len(data) > 0 {
		if _, err := w.process.Stdin().Write(data); err != nil {
			return err
		}
	}
	if last.Marks() {
		last.Reached()
	}
	return nil
}

// batchBytes is about how much is written at once: less than a pipe holds.
const batchBytes = 32 << 10

// gather gives what is to be written for a frame and those that wait behind it, up to a mark: under load one system call, which also
// wakes the child once, carries several.
func (w *wire) gather(f outbox.Frame) (data []byte, last outbox.Frame, frames int64) {
	data, last, frames = f.Wanted(), f, 1
	for batched := false; len(data) < batchBytes && !last.Marks(); batched = true {
		select {
		case last = <-w.out.Frames():
			if !batched {
				data = append(w.batch[:0], data...)
			}
			data = append(data, last.Wanted()...)
			frames++
			if cap(data) <= 2*batchBytes { // a long message must not hold its memory
				w.batch = data[:0]
			}
		default:
			return data, last, frames
		}
	}
	return data, last, frames
}

// read takes the child's output until it ends.
func (w *wire) read() {
	stop := make(chan struct{})
	defer close(stop)
	go w.hastenEnd(stop)
	reader := line.NewReader(w.process.Stdout(), w.MaxMessageBytes)
	for {
		l, err := reader.Next()
		switch {
		case errors.Is(err, line.ErrEndless):
			w.conn.Fail(upstream.Fail(registry.FailNotMCP, upstream.ErrTooLarge,
				"The server writes a line without end to its standard output; messages are bounded to %d bytes.", w.MaxMessageBytes))
			return
		case err != nil:
			w.ended(err)
			return
		case l.Cut:
			w.tooLong(l)
		default:
			w.line(l.Text)
		}
		if w.conn.Context().Err() != nil {
			return
		}
	}
}

// hastenEnd keeps the reader from waiting for ever on a pipe that a descendant of a dead child holds open.
func (w *wire) hastenEnd(stop <-chan struct{}) {
	select {
	case <-w.process.Exited():
		w.hurry()
	case <-stop:
	}
}

// hurry lets the reader take what the child has already written, and then ends it.
func (w *wire) hurry() {
	if err := w.process.Stdout().SetReadDeadline(time.Now().Add(lastWords)); err != nil {
		w.ended(err)
	}
}

// ended is the end of the child.
func (w *wire) ended(err error) {
	timer := time.NewTimer(lastWords)
	defer timer.Stop()
	select {
	case <-w.process.Exited():
		w.conn.Fail(upstream.Fail(registry.FailExited, nil, "The server's process ended: %s.", w.process.ExitMessage()))
	case <-w.conn.Done():
	case <-timer.C:
		if errors.Is(err, io.EOF) {
			w.conn.Fail(upstream.Fail(registry.FailExited, nil, "The server closed its standard output."))
			return
		}
		w.conn.Fail(upstream.Fail(registry.FailExited, err, "The pipe to the server's process broke."))
	}
}

func (w *wire) Shut() {
	select {
	case <-w.process.Exited():
		if !errors.Is(w.conn.Err(), upstream.ErrClosed) {
			w.Counters.ChildDeaths.Add(1)
		}
	default:
	}
	if err := w.process.Close(); err != nil {
		w.Log.Warn("a child could not be ended", "err", err)
	}
}

// decoration is what may stand before a message on its line: a byte order mark, escape sequences of terminals, white space.
var decoration = regexp.MustCompile("^(?:\xef\xbb\xbf|\x1b\\[[0-9;?]*[A-Za-z]|[ \t\r])+")

// line takes one line of the child's standard output.
func (w *wire) line(text []byte) {
	if len(text) > 0 && text[0] != '{' {
		text = text[len(decoration.Find(text)):]
	}
	if len(text) == 0 || w.conn.Receive(text, nil) {
		return
	}
	w.conn.Noise()
	w.Log.Debug("skipped a line of the server's standard output that is not JSON-RPC", "bytes", len(text))
	// A message that follows other text on its line is not trusted: the text may quote anything. But whoever waits for
	// it need not wait for its time-out.
	if i := bytes.Index(text, []byte(`{"`)); i > 0 && bytes.Contains(text[i:], []byte(`"jsonrpc"`)) {
		if p := w.conn.Answers(text[i:]); p != nil {
			w.conn.Settle(p, link.Answer{Err: upstream.Fail(registry.FailNotMCP, upstream.ErrNotStrict,
				"The server's answer to %s does not stand on a line of its own on its standard output.", p.Method)})
		}
	}
}

// endID finds the id of an answer that is written behind its result, as the TypeScript SDK does.
var endID = regexp.MustCompile(`[,{]\s*"id"\s*:\s*([0-9]{1,18})\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`)

// tooLong fails the call that a line over the bound answers. Where that can't be told, an answer may be lost, so that the
// connection is of no use any more.
func (w *wire) tooLong(l line.Line) {
	head := l.Text[len(decoration.Find(l.Text)):]
	if !jsonrpc.IsObject(head) {
		w.conn.Noise()
		return
	}
	w.conn.Drop("a line over the bound")
	p := w.conn.Answers(head)
	if p == nil && !link.IsEvent(head) {
		if m := endID.FindSubmatch(l.Tail); m != nil {
			id, _ := strconv.ParseInt(string(m[1]), 10, 64)
			p = w.conn.Pending(id)
		}
	}
	limit := w.MaxMessageBytes
	switch {
	case p != nil:
		w.conn.Settle(p, link.Answer{Err: link.TooLarge(p.Method, limit)})
	case link.IsEvent(head):
	default:
		w.conn.Fail(upstream.Fail(registry.FailNotMCP, upstream.ErrTooLarge,
			"The server wrote a line of more than %d bytes to its standard output that answers no known call.", limit))
	}
}
