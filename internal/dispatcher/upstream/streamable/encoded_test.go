// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package streamable

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/upstreamtest"
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/registry"
)

// pack encodes text in one of two ways.
func pack(t *testing.T, encoding string, text io.Reader) []byte {
	t.Helper()
	var body bytes.Buffer
	w := io.WriteCloser(gzip.NewWriter(&body))
	if encoding == "zstd" {
		z, err := zstd.NewWriter(&body)
		if err != nil {
			t.Fatal(err)
		}
		w = z
	}
	_, err := io.Copy(w, text)
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return body.Bytes()
}

// TestEncodedAnswers is G-34: a server that compresses whatever it was asked for. ANSWER stands for the message.
func TestEncodedAnswers(t *testing.T) {
	for name, tc := range map[string]struct {
		label, body string
		status      int
		says        string
	}{
		"JSON":                            {label: "application/json; charset=utf-8", body: "ANSWER"},
		"JSON labelled as a stream":       {label: "text/event-stream", body: "ANSWER"},
		"a stream":                        {label: "text/event-stream", body: "event: message\r\ndata: ANSWER\r\n\r\n"},
		"a stream labelled as JSON":       {label: "application/json", body: "data: ANSWER\n\n"},
		"a JSON-RPC error in HTTP 500":    {status: 500, body: `{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"no"}}`, says: "error -32603"},
		"a page":                          {status: 502, label: "text/html", body: "<html>oops</html>", says: "HTTP 502"},
		"an empty body":                   {label: "application/json", says: "empty body"},
		"JSON without end":                {label: "application/json", body: "BOMB", says: "larger than"},
		"an event without end":            {label: "text/event-stream", body: "data: BOMB", says: "larger than"},
		"an event of lines without end":   {label: "text/event-stream", body: "LINES", says: "larger than"},
		"an error body without end":       {status: 500, label: "application/json", body: "BOMB", says: "HTTP 500"},
		"comments, then what is no event": {label: "text/event-stream", body: ": BOMB", says: "larger than"},
	} {
		for _, encoding := range []string{"gzip", "zstd"} {
			t.Run(name+" in "+encoding, func(t *testing.T) {
				server := newFake()
				server.answer = func(w http.ResponseWriter, _ *http.Request, m *jsonrpc.Message) bool {
					if m.Method != "tools/call" {
						return false
					}
					w.Header().Set("Content-Type", tc.label)
					w.Header().Set("Content-Encoding", encoding)
					if tc.status != 0 {
						w.WriteHeader(tc.status)
					}
					text := strings.NewReplacer("ANSWER", response(m.ID, `{"ok":true}`), "BOMB", strings.Repeat(" ", 4<<20),
						"LINES", strings.Repeat("data: "+strings.Repeat("x", 1000)+"\n", 4<<10)).Replace(tc.body)
					_, _ = w.Write(pack(t, encoding, strings.NewReader(text)))
					return true
				}
				conn := dial(t, server, nil, Options{Options: upstream.Options{MaxMessageBytes: 1 << 20}})
				got, err := upstreamtest.CallTool(t, conn, `{}`)
				switch {
				case tc.says == "" && (err != nil || got != `{"ok":true}`):
					t.Errorf("got %s, %v", got, err)
				case strings.HasPrefix(tc.says, "error ") && (err != nil || got != tc.says):
					t.Errorf("got %s, %v, want %s", got, err, tc.says)
				case tc.says != "" && !strings.HasPrefix(tc.says, "error "):
					upstreamtest.WantFailure(t, err, registry.FailNotMCP, tc.says)
				}
				if conn.Err() != nil {
					t.Errorf("the connection ended: %v", conn.Err())
				}
			})
		}
	}
}
