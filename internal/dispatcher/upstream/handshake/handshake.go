// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package handshake opens a connection to a server in an era that both sides speak, and remembers how the server speaks.
//
// It sends its requests through Peer and knows nothing of how connections work, so it does not import link.
package handshake

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/mcp"
	"toolgate.dev/toolgate/internal/registry"
)

// legacyVersions are those that may come out of initialize, newest first: one more than clients are given.
var legacyVersions = append(slices.Clone(mcp.Legacy), mcp.Unpublished)

// Complete fills what a Hello leaves out.
func Complete(h upstream.Hello) upstream.Hello {
	h.ProtocolVersion = cmp.Or(h.ProtocolVersion, mcp.LatestLegacy)
	if h.Capabilities == nil {
		h.Capabilities = []byte("{}")
	}
	if h.ClientInfo == nil {
		h.ClientInfo = []byte(`{"name":"toolgate","version":"1"}`)
	}
	return h
}

// Peer is the connection that is being opened.
type Peer interface {
	Call(ctx context.Context, call upstream.Call) (upstream.Reply, error)
	Notify(ctx context.Context, method string, params []byte) error
	// Agree is called with the era that is tried, before anything is sent in it, and with what the server said of itself.
	Agree(info upstream.Info)
	// Err says why the connection has ended; nil while it has not.
	Err() error
}

// Handshake is one handshake. All its fields are needed; Hello is complete.
type Handshake struct {
	Peer  Peer
	Hello upstream.Hello
	// Eras is what is known of the server, and learns from this handshake.
	Eras *Eras
	// DiscoverTimeout is how long a server that is not known to be modern may keep silent about server/discover.
	DiscoverTimeout time.Duration
}

// initialize opens a legacy connection. A refusal by the server comes as a *jsonrpc.Error.
func (h *Handshake) initialize(ctx context.Context) (*jsonrpc.Error, error) {
	h.Peer.Agree(upstream.Info{Era: upstream.Legacy})
	version := h.Hello.ProtocolVersion
	if !slices.Contains(legacyVersions, version) {
		version = mcp.LatestLegacy
	}
	params := jsonrpc.AppendString([]byte(`{"protocolVersion":`), version)
	params = append(append(params, `,"capabilities":`...), h.Hello.Capabilities...)
	params = append(append(params, `,"clientInfo":`...), h.Hello.ClientInfo...)
	reply, err := h.Peer.Call(ctx, upstream.Call{Method: mcp.MethodInitialize, Params: append(params, '}')})
	if err != nil || reply.Error != nil {
		return reply.Error, err
	}
	info, err := initialized(reply.Result)
	if err != nil {
		return nil, err
	}
	h.Peer.Agree(info)
	return nil, h.Peer.Notify(ctx, mcp.NotifyInitialized, nil)
}

// errLoose says that initialize was answered in a way in which only a server answers that does not know it.
var errLoose = errors.New("initialize is not known")

func initialized(result []byte) (upstream.Info, error) {
	raw, _ := jsonrpc.Member(result, "protocolVersion")
	version, ok := jsonrpc.String(raw)
	if !ok {
		return upstream.Info{}, upstream.Fail(registry.FailNotMCP, errLoose, "The server's answer to initialize has no protocolVersion: it is not an MCP server.")
	}
	if !slices.Contains(legacyVersions, version) {
		var cause error
		if version == mcp.Modern {
			cause = errLoose
		}
		return upstream.Info{}, upstream.Fail(registry.FailProtocol, cause,
			"The server answered initialize with the protocol version %s; known are %s.", printable(version), strings.Join(legacyVersions, ", "))
	}
	return readInfo(upstream.Legacy, version, result), nil
}

// discover asks for what a modern connection begins with; only says that the server names no version of the legacy era. A
// refusal by the server comes as a *jsonrpc.Error.
func (h *Handshake) discover(ctx context.Context) (info upstream.Info, only bool, refusal *jsonrpc.Error, err error) {
	h.Peer.Agree(upstream.Info{Era: upstream.Modern, ProtocolVersion: mcp.Modern})
	reply, err := h.Peer.Call(ctx, upstream.Call{Method: mcp.MethodDiscover, Params: []byte("{}")})
	if err != nil || reply.Error != nil {
		return upstream.Info{}, false, reply.Error, err
	}
	versions, _ := jsonrpc.Member(reply.Result, "supportedVersions")
	modern, only := false, true
	for raw := range jsonrpc.Elements(versions) {
		version, _ := jsonrpc.String(raw)
		modern = modern || version == mcp.Modern
		only = only && !slices.Contains(legacyVersions, version)
	}
	if !modern {
		return upstream.Info{}, false, nil, upstream.Fail(registry.FailProtocol, nil,
			"The server's answer to server/discover does not name the protocol version %s.", mcp.Modern)
	}
	return readInfo(upstream.Modern, mcp.Modern, reply.Result), only, nil, nil
}

func readInfo(era upstream.Era, version string, result []byte) upstream.Info {
	object := func(raw []byte, ok bool) []byte {
		if !ok || !jsonrpc.IsObject(raw) {
			return nil
		}
		return raw
	}
	info := upstream.Info{Era: era, ProtocolVersion: version}
	info.Capabilities = object(jsonrpc.Member(result, "capabilities"))
	info.Meta = object(jsonrpc.Member(result, "_meta"))
	if info.ServerInfo = object(jsonrpc.Member(result, "serverInfo")); info.ServerInfo == nil {
		info.ServerInfo = object(jsonrpc.Member(info.Meta, mcp.MetaServerInfo))
	}
	if raw, ok := jsonrpc.Member(result, "instructions"); ok && jsonrpc.IsString(raw) {
		info.Instructions = raw
	}
	return info
}

// printable makes a server's word fit for a message: short, quoted, one line.
func printable(word string) string {
	const most = 32
	return strings.ToValidUTF8(string(jsonrpc.AppendString(nil, word[:min(most, len(word))])), "?")
}
