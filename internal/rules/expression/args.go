// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"

	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/schema"
)

// decodeArgs decodes strict JSON (accepted by jsonrpc.Check) as CEL sees it: whole numbers that fit int64 (1.0 and 1e3
// are whole) are int64, others float64 where that is exact (the double is the number, or the number is the double's
// shortest decimal), else an error that names the member. largest is the size of the largest value in it; see measure.
func decodeArgs(raw []byte) (v any, largest int, err error) {
	v, err = schema.Decode(raw)
	if err != nil {
		return nil, 0, err
	}
	c := converter{}
	v, err = c.convert(v)
	return v, c.size(), err
}

// converter puts CEL's numbers into a decoded tree, in place, and measures it.
type converter struct{ measurer }

func (c *converter) convert(v any) (any, error) {
	c.values++
	switch v := v.(type) {
	case json.Number:
		return number(v.String())
	case string:
		c.text(v)
	case map[string]any:
		for key, member := range v {
			c.text(key)
			converted, err := c.convert(member)
			if err != nil {
				return nil, within(err, key)
			}
			v[key] = converted
		}
	case []any:
		for i, element := range v {
			converted, err := c.convert(element)
			if err != nil {
				return nil, within(err, strconv.Itoa(i))
			}
			v[i] = converted
		}
	}
	return v, nil
}

// numberError is a number that CEL can't hold. It gathers the path to it on its way up.
type numberError struct{ path string }

func (e *numberError) Error() string {
	return fmt.Sprintf("the number at %s is neither a whole number of 64 bits nor an exact double", e.path)
}

func within(err error, token string) error {
	if n := new(numberError); errors.As(err, &n) {
		n.path = "/" + jsonrpc.EscapeToken(Clip(token)) + n.path
	}
	return err
}

// number converts one JSON number.
func number(text string) (any, error) {
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return i, nil
	}
	exact, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil, &numberError{}
	}
	if exact.IsInt() && exact.Num().IsInt64() {
		return exact.Num().Int64(), nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) {
		return nil, &numberError{}
	}
	if new(big.Rat).SetFloat64(f).Cmp(exact) == 0 {
		return f, nil
	}
	shortest, ok := new(big.Rat).SetString(strconv.FormatFloat(f, 'g', -1, 64))
	if !ok || shortest.Cmp(exact) != 0 {
		return nil, &numberError{}
	}
	return f, nil
}
