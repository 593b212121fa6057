// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestUpstreamInADocument(t *testing.T) {
	own := Upstream{Transport: TransportStdio}
	for name, tc := range map[string]struct{ doc, want Upstream }{
		"of the same server": {
			doc:  Upstream{Transport: TransportStdio, Isolation: IsolationShared},
			want: Upstream{Transport: TransportStdio, Isolation: IsolationShared},
		},
		"of another server": {
			doc:  Upstream{Transport: TransportStreamableHTTP, URL: "https://b.example/mcp", Remote: true, Isolation: IsolationShared, CAFile: "ca"},
			want: Upstream{Transport: TransportStdio},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, own.In(tc.doc)); diff != "" {
				t.Errorf("In (-want +got):\n%s", diff)
			}
		})
	}
}

func TestUpstreamAsText(t *testing.T) {
	want := Upstream{Transport: TransportSSE, URL: "https://b.example/$(POD_IP)?a=$$&<b>", Remote: true, CAFile: "/ca",
		Headers: []HeaderFile{{Name: "X-$1", File: "/headers/0"}}}
	text, err := want.Text()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text, "$") {
		t.Errorf("%s: Kubernetes would replace what follows the $", text)
	}
	got, err := ReadUpstream(text)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&want, got); diff != "" {
		t.Errorf("read again (-want +got):\n%s", diff)
	}
}

func TestUpstreamThatIsNone(t *testing.T) {
	for text, want := range map[string]string{
		``:                            "",
		`{}`:                          "upstream.transport",
		`{"transport":"stdio","x":1}`: "x",
		`{"transport":"sse"}`:         "not an http or https URL",
		`{"transport":"stdio"} {}`:    "after the end",
	} {
		if _, err := ReadUpstream(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ReadUpstream(%s): %v, want an error with %q", text, err, want)
		}
	}
}
