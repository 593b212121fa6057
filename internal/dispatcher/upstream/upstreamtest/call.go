// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package upstreamtest

import (
	"fmt"
	"os"
	"strings"

	"toolgate.dev/toolgate/internal/jsonrpc"
)

// call carries out a tool, each of which is a way in which servers behave.
func (s *server) call(m jsonrpc.Message) {
	name, _ := jsonrpc.String(m.Param("name"))
	args := m.Param("arguments")
	switch s.mood {
	case StdoutShut:
		_ = os.Stdout.Close()
		return
	case NullIDError:
		s.send(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}`)
		return
	default: // the others call the tool
	}
	if s.tells(&m, name, args) {
		return
	}
	switch name {
	case "echo": // gives back its params, byte for byte
		s.reply(m.ID, `{"content":[],"structuredContent":`+string(m.Params)+`}`)
	case "big": // a result of n bytes, with the id before or behind it
		s.big(&m, args)
	case "die":
		fmt.Fprintln(os.Stderr, "panic: out of memory")
		die()
	case "hang":
		s.send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"id":` + m.ID.String() + `}}`)
	case "cancelled": // the ids of the cancellations so far
		s.mu.Lock()
		seen := strings.Join(s.seen, ",")
		s.mu.Unlock()
		s.reply(m.ID, `{"ids":[`+seen+`]}`)
	case "ask": // asks the client under the id of the client's own call
		s.reply(m.ID, `{"answer":`+s.ask(m.ID.String(), "sampling/createMessage", `{"messages":[]}`)+`}`)
	case "ask-cancel":
		s.send(`{"jsonrpc":"2.0","id":"ask","method":"elicitation/create","params":{}}`)
		s.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"ask"}}`)
		s.reply(m.ID, `{}`)
	case "progress":
		token := string(m.MetaMember("progressToken"))
		for i := range 100 {
			s.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`, token, i))
		}
		s.reply(m.ID, `{}`)
		s.send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + token + `,"progress":100}}`)
	case "broken": // an answer that two readers understand differently
		s.raw(`{"jsonrpc":"2.0","id":` + m.ID.String() + `,"result":{"a":1,"a":2}}` + "\n")
	case "half": // an answer behind a text without line end
		s.raw("working... " + `{"jsonrpc":"2.0","id":` + m.ID.String() + `,"result":{}}` + "\n")
	case "log": // a notification of the server's log
		s.send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info"}}`)
		s.reply(m.ID, `{}`)
	default:
		s.refuse(m.ID, -32602, "Unknown tool")
	}
}

func (s *server) big(m *jsonrpc.Message, args []byte) {
	raw, _ := jsonrpc.Member(args, "n")
	n, _ := jsonrpc.Int(raw)
	text := `{"text":"` + strings.Repeat("x", int(n)) + `"}`
	switch _, tail := jsonrpc.Member(args, "tail"); {
	case tail:
		s.raw(`{"result":` + text + `,"jsonrpc":"2.0","id":` + m.ID.String() + "}\n")
	default:
		s.reply(m.ID, text)
	}
}
