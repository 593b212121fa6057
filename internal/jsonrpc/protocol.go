// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"fmt"
	"strings"
)

// keyTable knows the protocol's keys of one kind of object.
type keyTable struct {
	path   string            // JSON Pointer of the object in a message
	exact  map[string]string // key -> itself, so that looking one up costs no memory
	folded map[string]string // fold -> the protocol's spelling
	prefix string            // every key under this prefix is the protocol's; "" for none
}

func newKeyTable(path, prefix string, keys ...string) *keyTable {
	t := &keyTable{path: path, prefix: prefix, exact: make(map[string]string, len(keys)), folded: make(map[string]string, len(keys))}
	for _, key := range keys {
		t.exact[key] = key
		t.folded[Fold(key)] = key
	}
	return t
}

// variant returns the protocol key that the given key, which is none, differs from by case alone.
func (t *keyTable) variant(key string) (protocolKey string, found bool) {
	folded := Fold(key)
	if protocolKey, found = t.folded[folded]; found {
		return protocolKey, true
	}
	if t.prefix != "" && strings.HasPrefix(folded, t.prefix) && !strings.HasPrefix(key, t.prefix) {
		return t.prefix, true
	}
	return "", false
}

// keyTables are the protocol's keys by role. Those of params are the members of params of every method in every revision of
// MCP, 2024-11-05 to 2026-07-28. Those of meta are the keys that MCP gives a meaning there; it keeps a whole prefix for
// itself.
var keyTables = [roles]*keyTable{
	envelope: newKeyTable("", "", "jsonrpc", "id", "method", "params", "result", "error"),
	failure:  newKeyTable("/error", "", "code", "message", "data"),
	params: newKeyTable("/params", "",
		"_meta", "cursor", "task", "taskId", // any method; tasks
		"protocolVersion", "capabilities", "clientInfo", // initialize
		"name", "arguments", "uri", "level", "ref", "argument", "context", // tools, prompts, resources, logging, completion
		"inputResponses", "requestState", "notifications", // 2026-07-28
		"requestId", "reason", "progressToken", "progress", "total", "message", // notifications
		"logger", "data", "elicitationId", "status", "statusMessage", "createdAt", "lastUpdatedAt", "ttl", "pollInterval",
		"messages", "modelPreferences", "systemPrompt", "includeContext", "temperature", "maxTokens", // sampling
		"stopSequences", "metadata", "tools", "toolChoice",
		"mode", "requestedSchema", "url", // elicitation
	),
	meta: newKeyTable("/params/_meta", "io.modelcontextprotocol/",
		"progressToken", "traceparent", "tracestate", "baggage",
		"io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientCapabilities",
		"io.modelcontextprotocol/clientInfo", "io.modelcontextprotocol/serverInfo", "io.modelcontextprotocol/logLevel",
		"io.modelcontextprotocol/subscriptionId", "io.modelcontextprotocol/related-task",
		"io.modelcontextprotocol/model-immediate-response",
	),
}

// methodNames are the methods that make up nearly all traffic, by themselves.
var methodNames = func() map[string]string {
	names := map[string]string{}
	for _, name := range []string{
		"tools/call", "tools/list", "initialize", "ping", "server/discover", "resources/list", "resources/read", "prompts/list", "prompts/get",
		"notifications/initialized", "notifications/progress", "notifications/message", "notifications/cancelled",
	} {
		names[name] = name
	}
	return names
}()

// field is a member whose key is the protocol's.
type field struct {
	key string
	raw []byte
}

// notes are what Parse needs to know of one object with a role.
type notes struct {
	fields  []field
	unknown int           // members whose key is not the protocol's
	invalid *InvalidError // the first key that differs from the protocol's by case alone
}

// add notes a member of an object in role r.
func (n *notes) add(r role, key, raw []byte) {
	table := keyTables[r]
	if known, ok := table.exact[string(key)]; ok {
		n.fields = append(n.fields, field{known, raw})
		return
	}
	n.unknown++
	if n.invalid != nil {
		return
	}
	if known, found := table.variant(string(key)); found {
		n.invalid = &InvalidError{
			Path:   table.path + "/" + EscapeToken(shorten(string(key))),
			Reason: fmt.Sprintf("the key differs only in case from %q; write it exactly so", known),
		}
	}
}

func (n *notes) reset() {
	clear(n.fields)
	*n = notes{fields: n.fields[:0]}
}

// get returns the value of a field, nil if absent.
func (n *notes) get(key string) []byte {
	return find(n.fields, key)
}

func find(fields []field, key string) []byte {
	for _, f := range fields {
		if f.key == key {
			return f.raw
		}
	}
	return nil
}
