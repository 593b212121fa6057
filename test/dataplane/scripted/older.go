// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package scripted

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"

	"github.com/coder/websocket"
)

// SSE serves the same over HTTP with SSE of revision 2024-11-05: a stream at /sse, and messages at /messages.
func (s *Server) SSE() http.Handler {
	h := &streams{server: s, open: map[string]chan []byte{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /sse", h.stream)
	mux.HandleFunc("POST /messages", h.post)
	return mux
}

// streams are those of an SSE server, by the name of their session.
type streams struct {
	server *Server

	mu    sync.Mutex
	count int
	open  map[string]chan []byte
}

func (h *streams) stream(w http.ResponseWriter, r *http.Request) {
	replies := make(chan []byte, 1000)
	h.mu.Lock()
	h.count++
	session := strconv.Itoa(h.count)
	h.open[session] = replies
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.open, session)
	}()
	w.Header().Set("Content-Type", "text/event-stream")
	flush := http.NewResponseController(w)
	_, _ = fmt.Fprintf(w, "event: endpoint\ndata: /messages?session=%s\n\n", session) // a reader that has gone shows in its own test
	_ = flush.Flush()
	for {
		select {
		case reply := <-replies:
			_, _ = fmt.Fprintf(w, "event: message\ndata: %s\n\n", reply) // as above
			_ = flush.Flush()
		case <-r.Context().Done():
			return
		}
	}
}

func (h *streams) post(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	replies := h.open[r.FormValue("session")]
	h.mu.Unlock()
	if replies == nil {
		http.Error(w, "no such session", http.StatusNotFound)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = h.server.note(append(body, '\n'))
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.WriteHeader(http.StatusAccepted)
	_ = http.NewResponseController(w).Flush() // a reader that has gone shows in its own test
	if reply := h.server.answer(body); reply != nil {
		replies <- reply
	}
}

// WebSocket serves the same over WebSocket.
func (s *Server) WebSocket() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"mcp"}})
		if err != nil {
			return
		}
		defer c.CloseNow() //nolint:errcheck // it may be closed already
		c.SetReadLimit(-1)
		for {
			_, data, err := c.Read(context.Background())
			if err != nil || s.note(append(data, '\n')) != nil {
				return
			}
			go func() {
				if reply := s.answer(data); reply != nil {
					_ = c.Write(context.Background(), websocket.MessageText, reply) // a reader that has gone shows in its own test
				}
			}()
		}
	})
}
