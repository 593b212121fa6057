// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"bytes"
	"slices"
	"strconv"
)

// AppendRequest appends a request to dst. The params must be a checked JSON object, or nil for none; their bytes are copied
// as they are.
func AppendRequest(dst []byte, id ID, method string, params []byte) []byte {
	dst = appendID(dst, id)
	return appendCall(append(dst, ','), method, params)
}

// AppendNotification appends a notification to dst, with params as in AppendRequest.
func AppendNotification(dst []byte, method string, params []byte) []byte {
	return appendCall(append(dst, `{"jsonrpc":"2.0",`...), method, params)
}

// AppendResponse appends a successful response to dst. The result must be a checked JSON value; its bytes are copied as
// they are.
func AppendResponse(dst []byte, id ID, result []byte) []byte {
	dst = append(appendID(dst, id), `,"result":`...)
	return append(append(dst, result...), '}')
}

// AppendError appends an error response to dst. The data of e must be a checked JSON value, or nil for none.
func AppendError(dst []byte, id ID, e *Error) []byte {
	dst = append(appendID(dst, id), `,"error":{"code":`...)
	dst = strconv.AppendInt(dst, e.Code, 10)
	dst = AppendString(append(dst, `,"message":`...), e.Message)
	if e.Data != nil {
		dst = append(append(dst, `,"data":`...), e.Data...)
	}
	return append(dst, "}}"...)
}

// Append appends the message to dst with a new envelope: only members that the protocol defines, and the bytes of params,
// result and error data as they are.
func (m *Message) Append(dst []byte) []byte {
	switch {
	case m.Kind == Request:
		return AppendRequest(dst, m.ID, m.Method, m.Params)
	case m.Kind == Notification:
		return AppendNotification(dst, m.Method, m.Params)
	case m.Error != nil:
		return AppendError(dst, m.ID, m.Error)
	}
	return AppendResponse(dst, m.ID, m.Result)
}

// appendID appends the beginning of an envelope: its version and id.
func appendID(dst []byte, id ID) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	if id.IsZero() {
		return append(dst, "null"...)
	}
	return append(dst, id.raw...)
}

func appendCall(dst []byte, method string, params []byte) []byte {
	dst = AppendString(append(dst, `"method":`...), method)
	if params != nil {
		dst = append(append(dst, `,"params":`...), params...)
	}
	return append(dst, '}')
}

// AppendCompactLines appends the checked JSON value raw to dst with each CR and LF replaced by a space, as a framing by
// lines demands. Inside strings JSON has neither, so nothing but white space changes.
func AppendCompactLines(dst, raw []byte) []byte {
	start := len(dst)
	dst = append(dst, raw...)
	for _, c := range []byte{'\n', '\r'} {
		rest := dst[start:]
		for i := bytes.IndexByte(rest, c); i >= 0; i = bytes.IndexByte(rest, c) {
			rest[i] = ' '
			rest = rest[i+1:]
		}
	}
	return dst
}

// Edit is one change to the members of an object.
type Edit struct {
	Key string
	Raw []byte // the new value, a JSON value; nil removes the member
}

// ReplaceMembers returns the object obj with the named members replaced, removed, or, where they are missing, added at the
// end in the order of edits. All other bytes stay as they are, in their order. Of two edits of one key the last holds. The
// object must be part of a checked value; anything but an object is taken as an empty one. The result is new memory.
func ReplaceMembers(obj []byte, edits ...Edit) []byte {
	size := len(obj) + 2
	for _, e := range edits {
		size += len(e.Key) + len(e.Raw) + 4
	}
	dst := make([]byte, 0, size)
	var w walker
	if !w.open(obj, '{') {
		w.open([]byte("{}"), '{')
	}
	dst = append(dst, w.data[:w.pos]...)
	open := len(dst)
	done := make([]bool, len(edits))
	from := w.pos // where the text of the next member begins, with the white space before it
	for it, ok := w.next(true); ok; it, ok = w.next(true) {
		until := skipSpace(w.data, it.end) // the white space after a member belongs to it
		if i := findEdit(edits, it, done); i < 0 {
			dst = append(appendComma(dst, open), w.data[from:until]...)
		} else if edits[i].Raw != nil {
			dst = append(appendComma(dst, open), w.data[from:it.value]...)
			dst = append(append(dst, edits[i].Raw...), w.data[it.end:until]...)
		}
		if from = until; from < len(w.data) && w.data[from] == ',' {
			from++
		}
	}
	for i, e := range edits {
		if done[i] || e.Raw == nil || slices.ContainsFunc(edits[i+1:], func(later Edit) bool { return later.Key == e.Key }) {
			continue
		}
		dst = append(AppendString(appendComma(dst, open), e.Key), ':')
		dst = append(dst, e.Raw...)
	}
	return append(dst, w.data[from:]...)
}

// findEdit returns the index of the last edit of the member it, and marks all edits of it as done.
func findEdit(edits []Edit, it item, done []bool) int {
	found := -1
	for i := range edits {
		if it.is(edits[i].Key) {
			found, done[i] = i, true
		}
	}
	return found
}

func appendComma(dst []byte, open int) []byte {
	if len(dst) > open {
		return append(dst, ',')
	}
	return dst
}
