// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"

	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/registry"
)

// redacted stands where a value was left out.
const redacted = "(redacted)"

// maxPayload bounds what is looked at for a record: more would not fit a line.
const maxPayload = MaxLine - 1<<10

// Payloads says which values go into records, and what of them is left out.
type Payloads struct {
	arguments, results bool
	names              map[string]bool
	pointers           map[string]bool
}

// NewPayloads gives what a document asks for.
func NewPayloads(a registry.Audit) *Payloads {
	p := &Payloads{arguments: a.Arguments, results: a.Results, names: map[string]bool{}, pointers: map[string]bool{}}
	for _, entry := range a.Redact {
		if strings.HasPrefix(entry, "/") {
			p.pointers[entry] = true
		} else {
			p.names[foldName(entry)] = true
		}
	}
	return p
}

// foldName is a name as entries of redact are compared.
func foldName(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
}

// Fill puts arguments and result into a record, where they are asked for. What is too long or cannot be read is named in
// Omitted. A nil Payloads asks for nothing.
func (p *Payloads) Fill(r *Record, arguments, result []byte) {
	if p == nil {
		return
	}
	if p.arguments && arguments != nil {
		r.Arguments = p.keep(r, "arguments", arguments)
	}
	if p.results && result != nil {
		r.Result = p.keep(r, "result", result)
	}
}

func (p *Payloads) keep(r *Record, name string, raw []byte) json.RawMessage {
	kept, err := p.redact(raw)
	if err != nil {
		r.Omitted = append(r.Omitted, name)
		return nil
	}
	return kept
}

var errTooLong = errors.New("too long for a record")

// redact gives a value without what is left out, on one line.
func (p *Payloads) redact(raw []byte) (json.RawMessage, error) {
	if len(raw) > maxPayload {
		return nil, errTooLong
	}
	value, err := decode(raw)
	if err != nil {
		return nil, err
	}
	return marshalValue(p.walk(value, "", true))
}

func decode(raw []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber() // numbers stay as they were written
	var value any
	if err := d.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("data after the value")
	}
	return value, nil
}

func marshalValue(value any) (json.RawMessage, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(out.Bytes()), nil
}

// walk leaves out what is below value. at is the RFC 6901 pointer of value, which counts while located is true.
func (p *Payloads) walk(value any, at string, located bool) any {
	if located && p.pointers[at] {
		return redacted
	}
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			if p.names[foldName(name)] || secret(name, member) {
				v[name] = redacted
				continue
			}
			v[name] = p.walk(member, at+"/"+jsonrpc.EscapeToken(name), located)
		}
	case []any:
		for i, element := range v {
			v[i] = p.walk(element, at+"/"+strconv.Itoa(i), located)
		}
	case string:
		return p.text(v)
	}
	return value
}

// text looks into JSON that stands in a text, as results repeat their structured content: names are left out there too.
func (p *Payloads) text(text string) string {
	trimmed := strings.TrimSpace(text)
	if !strings.HasPrefix(trimmed, "{") && !strings.HasPrefix(trimmed, "[") {
		return text
	}
	inner, err := decode([]byte(trimmed))
	if err != nil {
		return text
	}
	kept, err := marshalValue(p.walk(inner, "", false))
	if err != nil {
		return redacted
	}
	return string(kept)
}
