// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"fmt"
	"strings"
)

// keyTable knows the protocol's keys of one kind of object.
type keyTable struct {
	exact  map[string]struct{}
	folded map[string]string // fold -> the protocol's spelling
	prefix string            // every key under this prefix is the protocol's; "" for none
}

func newKeyTable(prefix string, keys ...string) *keyTable {
	t := &keyTable{exact: make(map[string]struct{}, len(keys)), folded: make(map[string]string, len(keys)), prefix: prefix}
	for _, key := range keys {
		t.exact[key] = struct{}{}
		t.folded[Fold(key)] = key
	}
	return t
}

// variant returns the protocol key that the given key differs from by case alone.
func (t *keyTable) variant(key []byte) (protocolKey string, found bool) {
	if _, ok := t.exact[string(key)]; ok {
		return "", false
	}
	folded := Fold(string(key))
	if protocolKey, found = t.folded[folded]; found {
		return protocolKey, true
	}
	if t.prefix != "" && strings.HasPrefix(folded, t.prefix) && !strings.HasPrefix(string(key), t.prefix) {
		return t.prefix, true
	}
	return "", false
}

// checkKeys refuses a member whose key is a case variant of a protocol key.
func (t *keyTable) checkKeys(members []member, path string) *InvalidError {
	for _, m := range members {
		if key, found := t.variant(m.key); found {
			return &InvalidError{
				Path:   path + "/" + pointerToken(string(m.key)),
				Reason: fmt.Sprintf("the key differs only in case from %q; write it exactly so", key),
			}
		}
	}
	return nil
}

var (
	envelopeKeys = newKeyTable("", "jsonrpc", "id", "method", "params", "result", "error")
	errorKeys    = newKeyTable("", "code", "message", "data")

	// paramKeys are the members of params of every method in every revision of MCP, 2024-11-05 to 2026-07-28.
	paramKeys = newKeyTable("",
		"_meta", "cursor", "task", "taskId", // any method; tasks
		"protocolVersion", "capabilities", "clientInfo", // initialize
		"name", "arguments", "uri", "level", "ref", "argument", "context", // tools, prompts, resources, logging, completion
		"inputResponses", "requestState", "notifications", // 2026-07-28
		"requestId", "reason", "progressToken", "progress", "total", "message", // notifications
		"logger", "data", "elicitationId", "status", "statusMessage", "createdAt", "lastUpdatedAt", "ttl", "pollInterval",
		"messages", "modelPreferences", "systemPrompt", "includeContext", "temperature", "maxTokens", // sampling
		"stopSequences", "metadata", "tools", "toolChoice",
		"mode", "requestedSchema", "url", // elicitation
	)

	// metaKeys are those that MCP gives a meaning in params._meta; it keeps the whole prefix for itself.
	metaKeys = newKeyTable("io.modelcontextprotocol/",
		"progressToken", "traceparent", "tracestate", "baggage",
		"io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientCapabilities",
		"io.modelcontextprotocol/clientInfo", "io.modelcontextprotocol/serverInfo", "io.modelcontextprotocol/logLevel",
		"io.modelcontextprotocol/subscriptionId", "io.modelcontextprotocol/related-task",
		"io.modelcontextprotocol/model-immediate-response",
	)
)
