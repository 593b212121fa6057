// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package scripted

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"toolgate.dev/toolgate/test/dataplane/wildjson"
)

// Tools that do more than to say that they were called.
const (
	// Say answers with its argument result, in those bytes.
	Say = `{"name":"say","description":"Answers with the result that it is given.","inputSchema":{"type":"object","required":["result"]},"annotations":{"readOnlyHint":true}}`
	// Mirror answers with content and structured content made from its seed, and with the hashes of both and of its arguments.
	Mirror = `{"name":"mirror","description":"Says what it got.","inputSchema":{"type":"object","properties":{"seed":{"type":"integer"}},"required":["seed"]},"annotations":{"readOnlyHint":true}}`
	// Count answers how often it was called in this process.
	Count = `{"name":"count","description":"Counts.","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`
	// Hang answers when it is released.
	Hang = `{"name":"hang","description":"Takes its time.","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`
	// Die ends the process.
	Die = `{"name":"die","description":"Ends.","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`
	// Change changes every definition, and tells the client where it may.
	Change = `{"name":"change","description":"Changes the tools.","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`
)

// Hashes are hex SHA-256 of what a call of mirror got and gave, in its result's _meta.
type Hashes struct {
	Arguments  string `json:"test/arguments"`
	Content    string `json:"test/content"`
	Structured string `json:"test/structured"`
}

// Hash is the SHA-256 of data in hex.
func Hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func (s *Server) call(name string, arguments json.RawMessage) []byte {
	switch name {
	case "say":
		var given struct {
			Result json.RawMessage `json:"result"`
		}
		if err := json.Unmarshal(arguments, &given); err != nil {
			return failed(-32602, err.Error())
		}
		return ok(given.Result)
	case "mirror":
		return s.mirror(arguments)
	case "count":
		return ok(fmt.Appendf(nil, `{"content":[{"type":"text","text":"%d"}]}`, s.counted.Add(1)))
	case "hang":
		s.awaitRelease()
	case "die":
		fmt.Fprintln(os.Stderr, "out of memory")
		s.exit(3)
		return nil
	case "change":
		s.changes.Add(1)
		if s.tell != nil {
			s.tell([]byte(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`))
		}
	}
	return ok(fmt.Appendf(nil, `{"content":[{"type":"text","text":%q}]}`, name))
}

func (s *Server) mirror(arguments json.RawMessage) []byte {
	var given struct {
		Seed uint64 `json:"seed"`
	}
	if err := json.Unmarshal(arguments, &given); err != nil {
		return failed(-32602, err.Error())
	}
	wild := wildjson.Generator{Rand: rand.New(rand.NewPCG(given.Seed, 1)), Lines: s.Lines}
	content, structured := wild.Content(), wild.Object()
	hashes, err := json.Marshal(Hashes{Arguments: Hash(arguments), Content: Hash(content), Structured: Hash(structured)})
	if err != nil {
		return failed(-32603, err.Error())
	}
	return ok(fmt.Appendf(nil, `{"content":%s,"structuredContent":%s,"_meta":%s}`, content, structured, hashes))
}

func (s *Server) awaitRelease() {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		if _, err := os.Stat(Release(s.Log)); err == nil {
			return
		}
	}
}
