// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package admin

import "net/http"

// Probes answers the kubelet on a listener of its own, which no client's load can fill.
//
// /healthz says that the process runs: no fault of the server is cured by restarting the dispatcher. /readyz is the latch.
func Probes(ready func() bool) http.Handler {
	mux := http.NewServeMux()
	alive := func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) }
	mux.HandleFunc("GET /healthz", alive)
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if !ready() {
			http.Error(w, "not ready: see /state on the admin listener", http.StatusServiceUnavailable)
			return
		}
		alive(w, r)
	})
	return mux
}

// Metrics answers scrapers at GET /metrics, and nothing else.
func Metrics(metrics http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics)
	return mux
}
