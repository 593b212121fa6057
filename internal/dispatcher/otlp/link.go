// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"context"
	"log/slog"

	"google.golang.org/protobuf/proto"
)

// link is the way of one signal to the collector. It is for one goroutine.
type link struct {
	client  *Client
	what    string
	log     *slog.Logger
	failing bool
}

func (s *Sender) link(url, what string) *link {
	return &link{client: NewClient(url, s.opts.Headers), what: what, log: s.opts.Log}
}

// post sends one message in bounded time and says whether the collector took it. Of failures in a row one is logged.
func (l *link) post(ctx context.Context, message proto.Message) bool {
	ctx, cancel := context.WithTimeout(ctx, postTimeout)
	defer cancel()
	err := l.client.Post(ctx, message)
	switch {
	case err != nil && !l.failing:
		l.log.Warn("the collector takes nothing: what was to be sent is dropped", "signal", l.what, "err", err)
	case err == nil && l.failing:
		l.log.Info("the collector is reached again", "signal", l.what)
	}
	l.failing = err != nil
	return err == nil
}
