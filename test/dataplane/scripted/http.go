// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package scripted

import (
	"fmt"
	"io"
	"net/http"
)

// ServeHTTP answers over streamable HTTP, without sessions: with plain JSON, or with an event stream.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = s.note(append(body, '\n'))
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	reply := s.answer(body)
	if reply == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if s.Stream {
		w.Header().Set("Content-Type", "text/event-stream")
		reply = fmt.Appendf(nil, "event: message\ndata: %s\n\n", reply)
	} else {
		w.Header().Set("Content-Type", "application/json")
	}
	_, _ = w.Write(reply) // a reader that has gone shows in its own test
}

// Close closes the log.
func (s *Server) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.read.Close()
}
