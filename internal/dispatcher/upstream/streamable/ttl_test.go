// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package streamable

import (
	"testing"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/upstreamtest"
)

func TestACatalogueLastsAsLongAsTheServerSays(t *testing.T) {
	for name, tc := range map[string]struct {
		ttl  string
		want time.Duration
	}{
		"nothing":                         {"", time.Minute},
		"less than is allowed":            {`,"ttlMs":20000`, 20 * time.Second},
		"a fraction":                      {`,"ttlMs":7500.0`, 7500 * time.Millisecond},
		"more than is allowed":            {`,"ttlMs":86400000`, time.Minute},
		"more than can be counted":        {`,"ttlMs":1e300`, time.Minute},
		"no time at all":                  {`,"ttlMs":0`, upstream.LeastTTL},
		"a time that has gone by":         {`,"ttlMs":-5`, upstream.LeastTTL},
		"what is no number":               {`,"ttlMs":"5"`, time.Minute},
		"what is no number either (null)": {`,"ttlMs":null`, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			clock, server := upstreamtest.NewClock(), newModern()
			server.ttl = tc.ttl
			conn := dial(t, server, nil, Options{Options: upstream.Options{Now: clock.Now, CatalogueTTL: time.Minute}})
			read := func() *upstream.Catalogue {
				cat, err := conn.Catalogue(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				return cat
			}
			first := read()
			clock.Advance(tc.want - time.Millisecond)
			if read() != first {
				t.Error("the catalogue was read again before its time")
			}
			clock.Advance(time.Millisecond)
			if read() == first {
				t.Error("the catalogue was not read again")
			}
		})
	}
}
