// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/registry"
)

// Start carries out the handshake, within the time that Hello or Options.StartTimeout give. ErrEndedInDiscover is among its
// errors where another connection should be tried that prefers the legacy era.
func (c *Conn) Start(ctx context.Context, known *Eras) error {
	cause := errors.New("the handshake took too long")
	limit := cmp.Or(c.hello.Patience, c.opts.StartTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, cause)
	defer cancel()
	defer c.watchSlowStart()()
	err := c.negotiate(ctx, known)
	if errors.Is(err, cause) {
		err = c.silent(limit, cause)
	}
	if err != nil {
		var e *upstream.Error
		if ended := errors.Is(err, ErrEndedInDiscover); errors.As(err, &e) {
			if err = e.WithStderr(c.wire.Stderr()); ended {
				err = errors.Join(ErrEndedInDiscover, err)
			}
		}
		c.Fail(err)
		return err
	}
	if c.feed != nil && c.Info().Era == upstream.Modern {
		go c.feed.run() //nolint:contextcheck // the feed lives as long as the connection
	}
	return nil
}

func (c *Conn) watchSlowStart() (stop func()) {
	slow, ok := c.handler.(upstream.SlowStart)
	if !ok {
		return func() {}
	}
	timer := time.AfterFunc(c.opts.SlowAfter, func() {
		slow.StartIsSlow(c.silent(c.opts.SlowAfter, nil).WithStderr(c.wire.Stderr()))
	})
	return func() { timer.Stop() }
}

func (c *Conn) silent(d time.Duration, cause error) *upstream.Error {
	if c.noisy.Load() > 0 {
		return upstream.Fail(registry.FailNotMCP, cause,
			"The server has not answered initialize within %s. It has written lines to its standard output that are not JSON-RPC; the command must start an MCP server that speaks over stdio.", d)
	}
	return upstream.Fail(registry.FailTimeout, cause,
		"The server has not answered initialize within %s. It may wait for something, or keep its output in a buffer that it does not flush.", d)
}

// initialize opens a legacy connection. A refusal by the server comes as a *jsonrpc.Error.
func (c *Conn) initialize(ctx context.Context) (*jsonrpc.Error, error) {
	c.know(upstream.Info{Era: upstream.Legacy})
	version := c.hello.ProtocolVersion
	if !slices.Contains(legacyVersions, version) {
		version = legacyVersions[0]
	}
	params := jsonrpc.AppendString([]byte(`{"protocolVersion":`), version)
	params = append(append(params, `,"capabilities":`...), c.hello.Capabilities...)
	params = append(append(params, `,"clientInfo":`...), c.hello.ClientInfo...)
	reply, err := c.Call(ctx, upstream.Call{Method: MethodInitialize, Params: append(params, '}')})
	if err != nil || reply.Error != nil {
		return reply.Error, err
	}
	info, err := initialized(reply.Result)
	if err != nil {
		return nil, err
	}
	c.know(info)
	return nil, c.Notify(ctx, methodInitialized, nil)
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
		if version == modernVersion {
			cause = errLoose
		}
		return upstream.Info{}, upstream.Fail(registry.FailProtocol, cause,
			"The server answered initialize with the protocol version %s; known are %s.", printable(version), strings.Join(legacyVersions, ", "))
	}
	return readInfo(upstream.Legacy, version, result), nil
}

// discover asks for what a modern connection begins with; only says that the server names no version of the legacy era. A
// refusal by the server comes as a *jsonrpc.Error.
func (c *Conn) discover(ctx context.Context) (info upstream.Info, only bool, refusal *jsonrpc.Error, err error) {
	c.know(upstream.Info{Era: upstream.Modern, ProtocolVersion: modernVersion})
	reply, err := c.Call(ctx, upstream.Call{Method: methodDiscover, Params: emptyObject})
	if err != nil || reply.Error != nil {
		return upstream.Info{}, false, reply.Error, err
	}
	versions, _ := jsonrpc.Member(reply.Result, "supportedVersions")
	modern, only := false, true
	for raw := range jsonrpc.Elements(versions) {
		version, _ := jsonrpc.String(raw)
		modern = modern || version == modernVersion
		only = only && !slices.Contains(legacyVersions, version)
	}
	if !modern {
		return upstream.Info{}, false, nil, upstream.Fail(registry.FailProtocol, nil,
			"The server's answer to server/discover does not name the protocol version %s.", modernVersion)
	}
	return readInfo(upstream.Modern, modernVersion, reply.Result), only, nil, nil
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
		info.ServerInfo = object(jsonrpc.Member(info.Meta, metaServerInfo))
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
