// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"strconv"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/handshake"
	"toolgate.dev/toolgate/internal/jsonrpc"
)

// The methods that connections themselves know, beside those of the handshake.
const (
	methodPing      = "ping"
	methodCancelled = "notifications/cancelled"
	methodProgress  = "notifications/progress"
)

// The keys of _meta that revision 2026-07-28 asks for in every request.
const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaClientInfo   = "io.modelcontextprotocol/clientInfo"
	metaToken        = "progressToken"
)

var emptyObject = []byte("{}")

// message writes the request of a call.
func (c *Conn) message(p *Call) []byte {
	params := c.params(p)
	dst := make([]byte, 0, len(params)+len(p.Method)+64)
	var id [20]byte
	raw, _ := jsonrpc.ParseID(appendInt(id[:0], p.id)) // an integer is one
	return jsonrpc.AppendRequest(dst, raw, p.Method, params)
}

// params are those of the call, with the keys of _meta that are the connection's.
func (c *Conn) params(p *Call) []byte {
	meta, present := jsonrpc.Member(p.Params, "_meta")
	if !present && p.Progress == nil && c.Info().Era != upstream.Modern {
		return p.Params
	}
	edits := []jsonrpc.Edit{{Key: metaToken}}
	if p.Progress != nil {
		edits[0].Raw = appendInt(nil, p.id)
	}
	if c.Info().Era == upstream.Modern {
		edits = append(edits, c.modernMeta(meta)...)
	} else {
		edits = append(edits, jsonrpc.Edit{Key: metaVersion}, jsonrpc.Edit{Key: metaCapabilities}, jsonrpc.Edit{Key: metaClientInfo})
	}
	return jsonrpc.ReplaceMembers(p.Params, jsonrpc.Edit{Key: "_meta", Raw: jsonrpc.ReplaceMembers(meta, edits...)})
}

// modernMeta are the keys that a request of revision 2026-07-28 must have.
func (c *Conn) modernMeta(meta []byte) []jsonrpc.Edit {
	edits := []jsonrpc.Edit{{Key: metaVersion, Raw: jsonrpc.AppendString(nil, handshake.ModernVersion)}}
	if _, ok := jsonrpc.Member(meta, metaCapabilities); !ok {
		edits = append(edits, jsonrpc.Edit{Key: metaCapabilities, Raw: c.hello.Capabilities})
	}
	if _, ok := jsonrpc.Member(meta, metaClientInfo); !ok {
		edits = append(edits, jsonrpc.Edit{Key: metaClientInfo, Raw: c.hello.ClientInfo})
	}
	return edits
}

func appendInt(dst []byte, n int64) []byte { return strconv.AppendInt(dst, n, 10) }
