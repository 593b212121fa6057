// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package handshake

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/registry"
)

// server is a Peer with a server behind it that gives one answer after the other to each method.
type server struct {
	mu      sync.Mutex // not held while an answer is waited for
	answers map[string][]answer
	agreed  upstream.Info
	sent    []string // methods in order, with the era that was agreed on when they were sent
	ended   error
	closed  chan struct{}
}

func newServer(initialize, discover []answer) *server {
	return &server{answers: map[string][]answer{"initialize": initialize, "server/discover": discover}}
}

type answer struct {
	result string
	code   int64  // of a refusal, if not 0
	data   string // of a refusal
	silent bool   // nothing is said while the connection lasts
	ends   bool   // the connection ends in place of an answer
}

var errEnded = errors.New("the child has ended")

func (s *server) Call(_ context.Context, call upstream.Call) (upstream.Reply, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = append(s.sent, string(s.agreed.Era)+" "+call.Method)
	if len(s.answers[call.Method]) == 0 {
		return upstream.Reply{Error: &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound}}, nil
	}
	a := s.answers[call.Method][0]
	s.answers[call.Method] = s.answers[call.Method][1:]
	switch {
	case a.silent:
		s.mu.Unlock()
		<-s.closed
		s.mu.Lock()
		return upstream.Reply{}, upstream.Fail(registry.FailExited, errEnded, "ended")
	case a.ends:
		s.ended = errEnded
		return upstream.Reply{}, upstream.Fail(registry.FailExited, errEnded, "ended")
	case a.code != 0:
		return upstream.Reply{Error: &jsonrpc.Error{Code: a.code, Data: []byte(a.data)}}, nil
	}
	return upstream.Reply{Result: []byte(a.result)}, nil
}

func (s *server) Notify(_ context.Context, method string, _ []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = append(s.sent, string(s.agreed.Era)+" "+method)
	return nil
}

func (s *server) Agree(info upstream.Info) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.agreed = info
}

func (s *server) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

const (
	asLegacy = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"old"},"instructions":"Be kind."}`
	asModern = `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"new"}}}`
	asBoth   = `{"supportedVersions":["2026-07-28","2025-11-25"],"capabilities":{}}`
)

var (
	initialize  = "legacy initialize"
	initialised = "legacy notifications/initialized"
	discover    = "modern server/discover"
)

func TestHandshake(t *testing.T) {
	cases := map[string]struct {
		prefers     upstream.Era
		initialize  []answer
		discover    []answer
		wantSent    []string
		wantVersion string
		wantReason  registry.FailureReason
		wantError   string
	}{
		"a legacy server": {
			initialize: []answer{{result: asLegacy}}, wantVersion: "2025-06-18", wantSent: []string{initialize, initialised},
		},
		"a client that would rather be modern meets a modern server": {
			prefers: upstream.Modern, discover: []answer{{result: asModern}}, wantVersion: "2026-07-28", wantSent: []string{discover},
		},
		"a client that would rather be modern meets a legacy server": {
			prefers: upstream.Modern, initialize: []answer{{result: asLegacy}}, wantVersion: "2025-06-18", wantSent: []string{discover, initialize, initialised},
		},
		"a legacy client meets a server without initialize": {
			discover: []answer{{result: asModern}}, wantVersion: "2026-07-28", wantSent: []string{initialize, discover},
		},
		"a server answers initialize with the modern version": {
			initialize: []answer{{result: `{"protocolVersion":"2026-07-28"}`}}, discover: []answer{{result: asBoth}},
			wantVersion: "2026-07-28", wantSent: []string{initialize, discover},
		},
		"a server says nothing to discover": {
			prefers: upstream.Modern, discover: []answer{{silent: true}}, initialize: []answer{{result: asLegacy}},
			wantVersion: "2025-06-18", wantSent: []string{discover, initialize, initialised},
		},
		"a server wants the one of its versions that is spoken": {
			prefers: upstream.Modern, discover: []answer{{code: -32022, data: `{"supported":["2026-07-28"]}`}, {result: asModern}},
			wantVersion: "2026-07-28", wantSent: []string{discover, discover},
		},
		"a modern server supports none of the versions": {
			prefers: upstream.Modern, discover: []answer{{code: -32022, data: `{"supported":["2030-01-01"]}`}},
			wantSent: []string{discover}, wantReason: registry.FailProtocol, wantError: "refused server/discover",
		},
		"a modern server does not understand us": {
			prefers: upstream.Modern, discover: []answer{{code: -32020}},
			wantSent: []string{discover}, wantReason: registry.FailProtocol, wantError: "-32020",
		},
		"a server refuses both": {
			wantSent: []string{initialize, discover}, wantReason: registry.FailNotMCP, wantError: "no revision of MCP",
		},
		"a server refuses initialize for reasons of its own": {
			initialize: []answer{{code: -32000}}, wantSent: []string{initialize}, wantReason: registry.FailStart, wantError: "-32000",
		},
		"an answer without a version": {
			initialize: []answer{{result: `{"ok":true}`}}, wantSent: []string{initialize, discover}, wantReason: registry.FailNotMCP, wantError: "not an MCP server",
		},
		"an answer with a version that nobody knows": {
			initialize: []answer{{result: `{"protocolVersion":"1999-01-01\u0007"}`}}, wantSent: []string{initialize},
			wantReason: registry.FailProtocol, wantError: `"1999-01-01\u0007"`,
		},
		"a discovery that names other versions only": {
			prefers: upstream.Modern, discover: []answer{{result: `{"supportedVersions":["2030-01-01"]}`}}, initialize: []answer{{result: asLegacy}},
			wantVersion: "2025-06-18", wantSent: []string{discover, initialize, initialised},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newServer(tc.initialize, tc.discover)
			err := handshake(t, s, new(Eras), tc.prefers)
			if diff := cmp.Diff(tc.wantSent, s.sent); diff != "" {
				t.Errorf("sent (-want +got):\n%s", diff)
			}
			if tc.wantError != "" {
				var failed *upstream.Error
				if !errors.As(err, &failed) || failed.Reason != tc.wantReason || !strings.Contains(err.Error(), tc.wantError) {
					t.Errorf("got %v, want %s: %s", err, tc.wantReason, tc.wantError)
				}
				return
			}
			if err != nil || s.agreed.ProtocolVersion != tc.wantVersion {
				t.Errorf("agreed on %q (%v), want %q", s.agreed.ProtocolVersion, err, tc.wantVersion)
			}
		})
	}
}

// handshake runs one by a clock of its own, on which silence takes no time, and ends the connection.
func handshake(t *testing.T, s *server, eras *Eras, prefers upstream.Era) (err error) {
	synctest.Test(t, func(*testing.T) {
		s.closed = make(chan struct{})
		h := &Handshake{Peer: s, Hello: Complete(upstream.Hello{Prefers: prefers}), Eras: eras, DiscoverTimeout: upstream.DefaultDiscoverTimeout}
		err = h.Run(context.Background())
		close(s.closed)
	})
	return err
}

// What one connection has learnt of a server saves the next one a question.
func TestTheNextConnectionKnows(t *testing.T) {
	cases := map[string]struct {
		prefers              upstream.Era
		initialize, discover []answer
		wantSecond           []string
	}{
		"that a server is legacy": {
			prefers: upstream.Modern, initialize: []answer{{result: asLegacy}}, wantSecond: []string{initialize, initialised},
		},
		"that a server has no initialize": {
			discover: []answer{{result: asModern}}, wantSecond: []string{discover},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var s *server
			var eras Eras
			for range 2 {
				s = newServer(tc.initialize, tc.discover)
				if err := handshake(t, s, &eras, tc.prefers); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(tc.wantSecond, s.sent); diff != "" {
				t.Errorf("the second connection sent (-want +got):\n%s", diff)
			}
		})
	}
}

// A child that ends at server/discover may be started again without it; one that ends at initialize as well ends anyway.
func TestAServerEndsAtDiscover(t *testing.T) {
	var eras Eras
	ending := func() *server {
		return newServer([]answer{{ends: true}}, []answer{{ends: true}})
	}
	if err := handshake(t, ending(), &eras, upstream.Modern); !errors.Is(err, ErrEndedInDiscover) {
		t.Fatalf("got %v, want ErrEndedInDiscover", err)
	}
	eras.NeverDiscover()
	if err := handshake(t, ending(), &eras, upstream.Modern); errors.Is(err, ErrEndedInDiscover) || !errors.Is(err, errEnded) {
		t.Fatalf("got %v, want the end itself", err)
	}
	eras.legacyOnly.Store(false)
	if err := handshake(t, ending(), &eras, upstream.Modern); errors.Is(err, ErrEndedInDiscover) || !errors.Is(err, errEnded) {
		t.Errorf("a server that ends anyway: got %v, want the end itself", err)
	}
}

func TestWhatAServerSaysOfItself(t *testing.T) {
	for answer, want := range map[string]upstream.Info{
		asLegacy: {ServerInfo: []byte(`{"name":"old"}`), Capabilities: []byte(`{"tools":{}}`), Instructions: []byte(`"Be kind."`)},
		asModern: {ServerInfo: []byte(`{"name":"new"}`), Capabilities: []byte(`{"tools":{}}`),
			Meta: []byte(`{"io.modelcontextprotocol/serverInfo":{"name":"new"}}`)},
		`{"serverInfo":"x","capabilities":[],"instructions":{}}`: {},
	} {
		if diff := cmp.Diff(want, readInfo("", "", []byte(answer))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", answer, diff)
		}
	}
}
