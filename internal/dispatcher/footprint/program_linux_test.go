// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package footprint

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRegionsThatMayBeReleased(t *testing.T) {
	const rest = "Rss: 8 kB\nPrivate_Dirty: 0 kB\n"
	const clean, written = "Anonymous:             0 kB\nVmFlags: rd ex mr mw me\n", "Anonymous:             4 kB\nVmFlags: rd ex mr mw me\n"
	for name, tc := range map[string]struct {
		maps string
		want []region
	}{
		"text that is as in the file":         {"00400000-00c50000 r-xp 00000000 08:01 12 /bin/dispatcher\n" + rest + clean, []region{{0x400000, 0xc50000}}},
		"constants that were relocated":       {"00400000-00c50000 r--p 00000000 08:01 12 /bin/dispatcher\n" + rest + written, nil},
		"what can be written to":              {"00400000-00c50000 rw-p 00000000 08:01 12 /bin/dispatcher\n" + rest + clean, nil},
		"another file":                        {"00400000-00c50000 r-xp 00000000 08:01 12 /lib/libc.so\n" + rest + clean, nil},
		"a file that only ends like ours":     {"00400000-00c50000 r-xp 00000000 08:01 12 /x /bin/dispatcher\n" + rest + clean, nil},
		"no file":                             {"c000000000-c000400000 rw-p 00000000 00:00 0\n" + rest + clean, nil},
		"the second of two":                   {"1000-2000 r--p 00000000 08:01 12 /bin/dispatcher\n" + rest + written + "2000-3000 r-xp 00000000 08:01 12 /bin/dispatcher\n" + rest + clean, []region{{0x2000, 0x3000}}},
		"a region whose pages nobody counted": {"1000-2000 r--p 00000000 08:01 12 /bin/dispatcher\n" + rest, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := unwritten(strings.NewReader(tc.maps), "/bin/dispatcher")
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(region{})); diff != "" || err != nil {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
}
