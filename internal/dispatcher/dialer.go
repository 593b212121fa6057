// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"errors"
	"fmt"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/origin"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/stdio"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/streamable"
	"toolgate.dev/toolgate/internal/registry"
)

// dialer dials as the description says. ttl is how long a connection believes its catalogue: a change of it counts for
// discovery at once, and for connections with the next way to the server.
func (b *backends) dialer(want description, ttl time.Duration) (upstream.Dialer, error) {
	d := b.dispatcher
	opts := upstream.Options{MaxMessageBytes: want.MaxMessageBytes, CatalogueTTL: ttl, Counters: d.counters}
	log := d.opts.Log.With("part", "upstream")
	if want.Transport == registry.TransportStdio {
		if d.opts.Spawner == nil {
			return nil, errors.New("the document says stdio, but there is neither --launch-socket nor --stdio to start the server with")
		}
		return stdio.New(d.opts.Spawner, opts, log), nil
	}
	server, err := origin.New(origin.Options{URL: want.URL, Remote: want.Remote, Headers: want.Headers, CAFile: want.CAFile})
	if err != nil {
		return nil, err
	}
	switch want.Transport {
	case registry.TransportStreamableHTTP:
		return streamable.New(opts, server, log), nil
	default:
		return nil, fmt.Errorf("transport %q is not known", want.Transport)
	}
}
