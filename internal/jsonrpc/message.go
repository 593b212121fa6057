// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"bytes"
	"fmt"
	"slices"
)

// Kind is what a message is.
type Kind uint8

// The kinds of message of JSON-RPC 2.0. The zero Kind is none of them.
const (
	Request      Kind = iota + 1 // a method and an id: wants one Response
	Notification                 // a method and no id: wants no answer
	Response                     // a result or an error
)

// String returns the kind in lower case.
func (k Kind) String() string {
	switch k {
	case Request:
		return "request"
	case Notification:
		return "notification"
	case Response:
		return "response"
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Error is the error object of a response (JSON-RPC 2.0, section 5.1). It is also a Go error.
type Error struct {
	Code    int64
	Message string
	Data    []byte // JSON of the data member, nil if absent
}

// Error gives message and code.
func (e *Error) Error() string {
	return fmt.Sprintf("%s (JSON-RPC error %d)", e.Message, e.Code)
}

// Message is one message of a client or of a server. Its byte slices alias the input of Parse.
type Message struct {
	Kind   Kind
	ID     ID     // of a Request or a Response; zero for a Notification and for an error answer to an unreadable request
	Method string // of a Request or a Notification
	Params []byte // JSON object, nil if absent
	Result []byte // JSON object; nil unless the Response is a success
	Error  *Error // nil unless the Response is an error

	// Unknown counts the members of the envelope that the protocol does not define. They are not kept: a message is
	// forwarded by writing a new envelope round its params, result or error data.
	Unknown int

	params, meta []field // the protocol's members of params and of params._meta, where Parse has read them
}

// Param returns the JSON of one member of params, nil if there is no such member. Of a message that Parse returned it
// finds the protocol's members without reading anything again.
func (m *Message) Param(key string) []byte {
	return lookup(m.params, params, m.Params, key)
}

// Meta returns the JSON of params._meta, nil if absent.
func (m *Message) Meta() []byte {
	return m.Param("_meta")
}

// MetaMember returns the JSON of one member of params._meta, nil if there is no such member.
func (m *Message) MetaMember(key string) []byte {
	return lookup(m.meta, meta, m.Meta(), key)
}

func lookup(fields []field, r role, obj []byte, key string) []byte {
	if _, known := keyTables[r].exact[key]; known && fields != nil {
		return find(fields, key)
	}
	raw, _ := Member(obj, key)
	return raw
}

// Parse reads one message of either direction. It accepts a single JSON-RPC 2.0 request, notification or response whose
// id, if any, is a string or an integer, whose params and result are objects, and none of whose keys in the envelope, in
// params, in params._meta and in error is a case variant of a protocol key. Members of the envelope that the protocol does
// not define are counted in Message.Unknown and dropped; members of params stay in Params, known or not.
//
// The error is a *SyntaxError if data is not strict JSON, else an *InvalidError, which carries the id if that can be read.
func Parse(data []byte, lim Limits) (Message, error) {
	s := acquireScanner(data, lim)
	defer s.release()
	if err := s.document(envelope); err != nil {
		return Message{}, err
	}
	switch firstByte(data) {
	case '{':
	case '[':
		return Message{}, &InvalidError{Reason: "a batch (JSON array) is not accepted; send each message by itself"}
	default:
		return Message{}, &InvalidError{Reason: "a message is a JSON object"}
	}
	p := newParts(&s.notes[envelope])
	m, err := p.message(s)
	if err != nil {
		err.ID = p.readableID()
		return Message{}, err
	}
	return m, nil
}

// keep copies what was noted of params and of its _meta, in one piece of memory: the notes are used again.
func (s *scanner) keep() (ofParams, ofMeta []field) {
	n := len(s.notes[params].fields)
	all := slices.Concat(s.notes[params].fields, s.notes[meta].fields)
	if all == nil {
		return nil, nil
	}
	return all[:n:n], all[n:]
}

// methodName is String for methods: those of the protocol cost no memory.
func methodName(raw []byte) (string, bool) {
	if content, ok := stringContent(raw); ok {
		if name, known := methodNames[string(content)]; known {
			return name, true
		}
	}
	return String(raw)
}

// parts are the values of the known members of an envelope, nil where absent.
type parts struct {
	version, id, method, params, result, failure []byte
}

func newParts(n *notes) parts {
	return parts{
		version: n.get("jsonrpc"), id: n.get("id"), method: n.get("method"),
		params: n.get("params"), result: n.get("result"), failure: n.get("error"),
	}
}

func (p *parts) readableID() ID {
	id, _ := ParseID(p.id)
	return id
}

// message makes the message, or says why it is none.
func (p *parts) message(s *scanner) (Message, *InvalidError) {
	for r := range s.notes {
		if err := s.notes[r].invalid; err != nil {
			return Message{}, err
		}
	}
	if err := p.check(); err != nil {
		return Message{}, err
	}
	m := Message{ID: p.readableID(), Unknown: s.notes[envelope].unknown}
	var err *InvalidError
	switch {
	case p.method != nil:
		m.params, m.meta = s.keep()
		err = p.fillCall(&m)
	case p.result != nil || p.failure != nil:
		err = p.fillResponse(&m)
	default:
		err = &InvalidError{Reason: "a message has a method, a result or an error"}
	}
	return m, err
}

// check holds what all kinds of message have in common.
func (p *parts) check() *InvalidError {
	if !equalString(p.version, "2.0") {
		return &InvalidError{Path: "/jsonrpc", Reason: `jsonrpc must be "2.0"`}
	}
	if p.id != nil && p.readableID().IsZero() && (p.failure == nil || !IsNull(p.id)) {
		return &InvalidError{Path: "/id", Reason: "the id must be a string or an integer, and is left out of a notification"}
	}
	return nil
}

func (p *parts) fillCall(m *Message) *InvalidError {
	if p.result != nil || p.failure != nil {
		return &InvalidError{Reason: "a message with a method has neither result nor error"}
	}
	var ok bool
	if m.Method, ok = methodName(p.method); !ok {
		return &InvalidError{Path: "/method", Reason: "the method must be a string"}
	}
	if p.params != nil && !IsObject(p.params) {
		return &InvalidError{Path: "/params", Reason: "params must be an object; leave it out if there is none"}
	}
	m.Params = p.params
	if raw := m.Meta(); raw != nil && !IsObject(raw) {
		return &InvalidError{Path: "/params/_meta", Reason: "_meta must be an object; leave it out if there is none"}
	}
	if m.Kind = Request; p.id == nil {
		m.Kind = Notification
	}
	return nil
}

func (p *parts) fillResponse(m *Message) *InvalidError {
	switch {
	case p.params != nil:
		return &InvalidError{Path: "/params", Reason: "a response has no params"}
	case p.result != nil && p.failure != nil:
		return &InvalidError{Reason: "a response has a result or an error, not both"}
	case p.failure != nil:
		m.Kind = Response
		return p.fillError(m)
	case p.id == nil:
		return &InvalidError{Path: "/id", Reason: "a result must carry the id of its request"}
	case !IsObject(p.result):
		return &InvalidError{Path: "/result", Reason: "a result must be an object"}
	}
	m.Kind, m.Result = Response, p.result
	return nil
}

func (p *parts) fillError(m *Message) *InvalidError {
	if !IsObject(p.failure) {
		return &InvalidError{Path: "/error", Reason: "an error must be an object with code and message"}
	}
	e := &Error{}
	var ok bool
	code, _ := Member(p.failure, "code")
	if e.Code, ok = Int(code); !ok {
		return &InvalidError{Path: "/error/code", Reason: "the code of an error must be an integer"}
	}
	text, _ := Member(p.failure, "message")
	if e.Message, ok = String(text); !ok {
		return &InvalidError{Path: "/error/message", Reason: "the message of an error must be a string"}
	}
	e.Data, _ = Member(p.failure, "data")
	m.Error = e
	return nil
}

// Clone returns the message with bytes of its own, to be kept longer than the input of Parse.
func (m *Message) Clone() Message {
	c := Message{
		Kind: m.Kind, ID: m.ID.Clone(), Method: m.Method, Unknown: m.Unknown,
		Params: bytes.Clone(m.Params), Result: bytes.Clone(m.Result),
	}
	if m.Error != nil {
		c.Error = &Error{Code: m.Error.Code, Message: m.Error.Message, Data: bytes.Clone(m.Error.Data)}
	}
	return c
}
