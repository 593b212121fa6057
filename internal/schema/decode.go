// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/schema/violation"
)

// errSyntax covers whatever is not one JSON value. The text was checked before (jsonrpc.Check says precisely what is
// wrong with it), so this decoder only has to be safe, not talkative.
var errSyntax = errors.New("is not one JSON value")

// limitError is a limit that a text breaks, with the place where it does.
type limitError struct {
	path   string // RFC 6901
	reason Reason
	text   string
}

func (e *limitError) Error() string { return e.text }

// at prefixes the path while an error travels up.
func at(err error, token string) error {
	var limit *limitError
	if errors.As(err, &limit) {
		limit.path = "/" + jsonrpc.EscapeToken(token) + limit.path
	}
	return err
}

// shape counts the values of an instance at each depth: what the cost of validating it is bounded by.
type shape struct {
	bytes   int
	perDeep [MaxDepth + 1]uint64
}

// decoder reads strict JSON into the tree that the validator takes (map[string]any, []any, string, json.Number, bool,
// nil), in one pass with the limits on depth and numbers.
//
// What it gives are pieces of one copy of the text: a copy of each would be most of what it takes.
type decoder struct {
	data  string
	pos   int
	shape shape
}

// decode reads one JSON value. Errors are errSyntax or *limitError.
func decode(data []byte) (any, *shape, error) {
	d := decoder{data: string(data), shape: shape{bytes: len(data)}}
	v, err := d.whole()
	return v, &d.shape, err
}

// whole reads the one value that there must be.
func (d *decoder) whole() (any, error) {
	v, err := d.value(0)
	if err != nil {
		return nil, err
	}
	if d.space(); d.pos != len(d.data) {
		return nil, errSyntax
	}
	return v, nil
}

func (d *decoder) space() {
	for d.pos < len(d.data) {
		switch d.data[d.pos] {
		case ' ', '\t', '\r', '\n':
			d.pos++
		default:
			return
		}
	}
}

// next skips white space and consumes c if it comes next.
func (d *decoder) next(c byte) bool {
	d.space()
	if d.pos < len(d.data) && d.data[d.pos] == c {
		d.pos++
		return true
	}
	return false
}

func (d *decoder) value(depth int) (any, error) {
	d.space()
	if d.pos >= len(d.data) {
		return nil, errSyntax
	}
	if depth > MaxDepth {
		return nil, &limitError{reason: ReasonTooDeep, text: fmt.Sprintf("is nested deeper than %d levels", MaxDepth)}
	}
	d.shape.perDeep[depth]++
	switch d.data[d.pos] {
	case '{':
		return d.object(depth)
	case '[':
		return d.array(depth)
	case '"':
		return d.str()
	case 't':
		return true, d.literal("true")
	case 'f':
		return false, d.literal("false")
	case 'n':
		return nil, d.literal("null")
	default:
		return d.number()
	}
}

func (d *decoder) literal(want string) error {
	if !strings.HasPrefix(d.data[d.pos:], want) {
		return errSyntax
	}
	d.pos += len(want)
	return nil
}

func (d *decoder) object(depth int) (any, error) {
	d.pos++
	obj := make(map[string]any)
	if d.next('}') {
		return obj, nil
	}
	for {
		d.space()
		if d.pos >= len(d.data) || d.data[d.pos] != '"' {
			return nil, errSyntax
		}
		key, err := d.str()
		if err != nil {
			return nil, err
		}
		if !d.next(':') {
			return nil, errSyntax
		}
		if obj[key], err = d.value(depth + 1); err != nil {
			return nil, at(err, key)
		}
		if d.next('}') {
			return obj, nil
		}
		if !d.next(',') {
			return nil, errSyntax
		}
	}
}

func (d *decoder) array(depth int) (any, error) {
	d.pos++
	arr := []any{}
	if d.next(']') {
		return arr, nil
	}
	for {
		v, err := d.value(depth + 1)
		if err != nil {
			return nil, at(err, strconv.Itoa(len(arr)))
		}
		arr = append(arr, v)
		if d.next(']') {
			return arr, nil
		}
		if !d.next(',') {
			return nil, errSyntax
		}
	}
}

// str reads the string that starts at pos.
func (d *decoder) str() (string, error) {
	start := d.pos
	escaped := false
	for d.pos++; d.pos < len(d.data); d.pos++ {
		switch d.data[d.pos] {
		case '"':
			d.pos++
			if !escaped {
				return d.data[start+1 : d.pos-1], nil
			}
			var s string
			if err := json.Unmarshal([]byte(d.data[start:d.pos]), &s); err != nil {
				return "", errSyntax
			}
			return s, nil
		case '\\':
			escaped = true
			d.pos++
		}
	}
	return "", errSyntax
}

// number reads the number that starts at pos, as it is written.
func (d *decoder) number() (any, error) {
	text, digits, exponent := d.numberText()
	if !json.Valid([]byte(text)) || digits == 0 {
		return nil, errSyntax
	}
	if digits > MaxNumberDigits {
		return nil, &limitError{reason: ReasonNumber, text: fmt.Sprintf("is a number of more than %d digits", MaxNumberDigits)}
	}
	if len(exponent) > 0 {
		exp, err := strconv.Atoi(exponent)
		if err != nil || exp > MaxExponent || exp < -MaxExponent {
			return nil, &limitError{reason: ReasonNumber, text: fmt.Sprintf("is a number with an exponent beyond %d", MaxExponent)}
		}
	}
	return json.Number(text), nil
}

// numberText takes all characters that a number may have, counts the digits before the exponent, and gives the exponent.
func (d *decoder) numberText() (text string, digits int, exponent string) {
	start, expAt := d.pos, -1
	for ; d.pos < len(d.data); d.pos++ {
		c := d.data[d.pos]
		if c == 'e' || c == 'E' {
			expAt = d.pos + 1
			continue
		}
		isDigit := c >= '0' && c <= '9'
		if !isDigit && c != '+' && c != '-' && c != '.' {
			break
		}
		if isDigit && expAt < 0 {
			digits++
		}
	}
	if expAt >= 0 {
		exponent = d.data[expAt:d.pos]
	}
	return d.data[start:d.pos], digits, exponent
}

// Decode reads one instance, which must have been accepted by jsonrpc.Check, into map[string]any, []any, string,
// json.Number, bool and nil, within MaxDepth, MaxNumberDigits and MaxExponent. The error says where a limit is broken.
func Decode(instance []byte) (any, error) {
	d := decoder{data: string(instance)} // not by decode, whose shape would outlive it
	v, err := d.whole()
	if err == nil {
		return v, nil
	}
	if limit := new(limitError); errors.As(err, &limit) && limit.path != "" {
		return nil, fmt.Errorf("the value at %s %w", violation.Clip(limit.path, violation.MaxPathBytes), err)
	}
	return nil, fmt.Errorf("the value %w", err)
}
