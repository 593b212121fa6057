// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"strconv"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/mcp"
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
	edits := []jsonrpc.Edit{{Key: mcp.ProgressToken}}
	if p.Progress != nil {
		edits[0].Raw = appendInt(nil, p.id)
	}
	if c.Info().Era == upstream.Modern {
		edits = append(edits, c.modernMeta(meta)...)
	} else {
		edits = append(edits, jsonrpc.Edit{Key: mcp.MetaVersion}, jsonrpc.Edit{Key: mcp.MetaCapabilities}, jsonrpc.Edit{Key: mcp.MetaClientInfo})
	}
	return jsonrpc.ReplaceMembers(p.Params, jsonrpc.Edit{Key: "_meta", Raw: jsonrpc.ReplaceMembers(meta, edits...)})
}

// modernMeta are the keys that a request of revision 2026-07-28 must have.
func (c *Conn) modernMeta(meta []byte) []jsonrpc.Edit {
	edits := []jsonrpc.Edit{{Key: mcp.MetaVersion, Raw: jsonrpc.AppendString(nil, mcp.Modern)}}
	if _, ok := jsonrpc.Member(meta, mcp.MetaCapabilities); !ok {
		edits = append(edits, jsonrpc.Edit{Key: mcp.MetaCapabilities, Raw: c.hello.Capabilities})
	}
	if _, ok := jsonrpc.Member(meta, mcp.MetaClientInfo); !ok {
		edits = append(edits, jsonrpc.Edit{Key: mcp.MetaClientInfo, Raw: c.hello.ClientInfo})
	}
	return edits
}

func appendInt(dst []byte, n int64) []byte { return strconv.AppendInt(dst, n, 10) }
