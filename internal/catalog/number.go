// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"bytes"
	"strconv"
)

// appendNumber appends the canonical form of a checked number: its sign, its significant digits and its exponent.
func appendNumber(dst, raw []byte) []byte {
	raw = bytes.TrimSpace(raw)
	negative := raw[0] == '-'
	if negative {
		raw = raw[1:]
	}
	mantissa, exponent := raw, 0
	if i := bytes.IndexAny(raw, "eE"); i >= 0 {
		mantissa = raw[:i]
		exponent, _ = strconv.Atoi(string(raw[i+1:])) // limits has bounded it
	}
	whole, fraction, _ := bytes.Cut(mantissa, []byte{'.'})
	exponent -= len(fraction)
	digits := bytes.TrimLeft(append(bytes.Clone(whole), fraction...), "0")
	if len(digits) == 0 {
		return append(dst, '0')
	}
	significant := bytes.TrimRight(digits, "0")
	exponent += len(digits) - len(significant)
	if negative {
		dst = append(dst, '-')
	}
	dst = append(append(dst, significant...), 'e')
	return strconv.AppendInt(dst, int64(exponent), 10)
}
