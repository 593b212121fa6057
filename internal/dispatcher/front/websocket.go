// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"toolgate.dev/toolgate/internal/dispatcher/edge"
	"toolgate.dev/toolgate/internal/dispatcher/policy"
	"toolgate.dev/toolgate/internal/dispatcher/stream"
	"toolgate.dev/toolgate/internal/jsonrpc"
)

// webSocketProtocol is the subprotocol under which MCP is spoken over WebSocket.
const webSocketProtocol = "mcp"

// WebSocket answers over WebSocket (RFC 6455), which no revision of MCP describes: each text frame is one message, as each
// line is on stdio, in the revision that the message says. A ping goes out where nothing else does; a client that answers
// none has gone.
func (h *Handler) WebSocket() http.Handler {
	return h.guarded(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			h.notAllowed(w, r.Method, http.MethodGet)
			return
		}
		if refusal := checkUpgrade(r); refusal != nil {
			w.Header().Set("Upgrade", "websocket")
			h.refuseHTTP(w, http.StatusUpgradeRequired, refusal)
			return
		}
		id := h.sessions.NewID()
		out := stream.New()
		c, refusal := h.openChannel(edge.Address(r), id, out)
		if refusal != nil {
			h.refuseHTTP(w, refusal.Kind.HTTPREST(), refusal)
			return
		}
		c.modern = true
		// The guard has looked at the origin. Compression would keep a window of each client in memory.
		conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{webSocketProtocol}, InsecureSkipVerify: true, CompressionMode: websocket.CompressionDisabled})
		if err != nil { // and the client has its answer
			c.carry(r.Context(), func(context.Context) {})
			return
		}
		c.overWebSocket(conn, h.Pipeline.Limits().MaxRequestBytes) //nolint:contextcheck // an upgraded connection has left its request
	})
}

func checkUpgrade(r *http.Request) *policy.Refusal {
	offered := strings.FieldsFunc(edge.Header(r.Header, "Sec-WebSocket-Protocol"), func(c rune) bool { return c == ',' || c == ' ' })
	if strings.EqualFold(edge.Header(r.Header, "Upgrade"), "websocket") && slices.Contains(offered, webSocketProtocol) {
		return nil
	}
	return &policy.Refusal{Kind: policy.InvalidRequest, Stage: policy.StageParse, Reason: "NoUpgrade",
		Message: "WebSocket is spoken here, over HTTP/1.1 and with the subprotocol mcp."}
}

// overWebSocket reads and writes the connection until one of both ends.
func (c *channel) overWebSocket(conn *websocket.Conn, limit int) {
	conn.SetReadLimit(int64(limit))
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer cancel()
		c.read(ctx, conn)
	}()
	carrier := c.out.Attach()
	c.carry(ctx, func(ctx context.Context) {
		carrier.RunTo(ctx, &frames{ctx: ctx, conn: conn})
		_ = conn.Close(websocket.StatusNormalClosure, "") // a client that has gone needs no farewell
	})
	cancel()
	<-read
}

// read takes messages until the client has gone or says what is no message. A message that is being begun holds up the next,
// and with it the client.
func (c *channel) read(ctx context.Context, conn *websocket.Conn) {
	for {
		kind, data, err := conn.Read(ctx)
		if err != nil {
			return // a frame over the limit has been told so (1009)
		}
		if kind != websocket.MessageText {
			_ = conn.Close(websocket.StatusUnsupportedData, "messages are text frames")
			return
		}
		in, refusal := c.parse(data)
		if refusal != nil {
			c.h.refuse(in, refusal)
			continue
		}
		c.take(in) //nolint:contextcheck // in carries the channel's
	}
}

// frames writes messages as text frames.
type frames struct {
	ctx  context.Context
	conn *websocket.Conn
	buf  []byte

	pinging, lost atomic.Bool
}

// Begin has nothing to say.
func (f *frames) Begin() error { return nil }

// Send writes a frame for each message, in one line as on stdio.
func (f *frames) Send(_ int, messages [][]byte) error {
	for _, m := range messages {
		f.buf = jsonrpc.AppendCompactLines(f.buf[:0], m)
		ctx, cancel := context.WithTimeout(f.ctx, stream.WriteTimeout)
		err := f.conn.Write(ctx, websocket.MessageText, f.buf)
		cancel()
		if err != nil {
			return err
		}
	}
	return nil
}

// Beat sends a ping. Whoever writes does not wait for its answer: the client may be busy, and so may be who reads from it.
func (f *frames) Beat() error {
	if f.lost.Load() {
		return errNoPong
	}
	if f.pinging.CompareAndSwap(false, true) {
		go func() {
			defer f.pinging.Store(false)
			ctx, cancel := context.WithTimeout(f.ctx, pongTimeout)
			defer cancel()
			f.lost.Store(f.conn.Ping(ctx) != nil)
		}()
	}
	return nil
}

// pongTimeout is how long a client may take to answer a ping, and we to read that: no message is read while a session begins.
const pongTimeout = time.Minute

var errNoPong = errors.New("the client answers no ping")
