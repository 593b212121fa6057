// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/admin"
	"toolgate.dev/toolgate/internal/dispatcher/edge"
)

// What bounds a connection of a client. Bodies and events have bounds of their own, since event streams have no end.
const (
	headerTimeout  = 10 * time.Second
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 64 << 10
	// shutdownTimeout bounds the writing of the last answers.
	shutdownTimeout = 5 * time.Second
)

// serve starts the servers of all listeners that there are.
func (d *Dispatcher) serve(tasks *sync.WaitGroup, failures chan<- error) []*http.Server {
	var servers []*http.Server
	for _, l := range []struct {
		name     string
		listener net.Listener
		handler  http.Handler
	}{
		{"MCP", d.opts.Listeners.MCP, d.Handler()},
		{"admin", d.opts.Listeners.Admin, d.guarded(d.admin)},
		{"metrics", d.opts.Listeners.Metrics, d.guarded(admin.Metrics(d.metrics.Handler()))},
		{"probe", d.opts.Listeners.Probe, admin.Probes(d.Ready)},
	} {
		if l.listener == nil {
			continue
		}
		server := newServer(l.handler, d.opts.Log)
		servers = append(servers, server)
		d.opts.Log.Info("listening", "for", l.name, "address", l.listener.Addr().String())
		tasks.Go(func() {
			if err := server.Serve(l.listener); !errors.Is(err, http.ErrServerClosed) {
				failures <- fmt.Errorf("serving %s at %s: %w", l.name, l.listener.Addr(), err)
			}
		})
	}
	return servers
}

// guarded lets in what Host and Origin allow: a web page must read no state either.
func (d *Dispatcher) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if refusal := d.guard.Check(r); refusal != nil {
			http.Error(w, refusal.Message, refusal.Kind.HTTPREST())
			return
		}
		next.ServeHTTP(w, r)
	})
}

// newServer speaks HTTP/1.1 and, without TLS, HTTP/2.
func newServer(handler http.Handler, log *slog.Logger) *http.Server {
	server := &http.Server{
		Handler: edge.BoundBodies(handler), ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug), Protocols: new(http.Protocols),
	}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	return server
}

// shutdown lets answers that are being written end, and then closes every connection.
func shutdown(servers []*http.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	for _, s := range servers {
		if s.Shutdown(ctx) != nil {
			_ = s.Close() // its error is that of closing listeners, which are closed
		}
	}
}
