// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"encoding/json"
	"strconv"
	"strings"
)

// maxWord bounds what a text quotes of a schema.
const maxWord = 60

// quote shows a name, whatever its characters.
func quote(name string) string { return clip(strconv.QuoteToGraphic(name)) }

// show writes a JSON value on one line.
func show(v any) string {
	if v == nil {
		return "null"
	}
	data, err := json.Marshal(v)
	if err != nil {
		return "a value"
	}
	return clip(string(data))
}

func clip(text string) string {
	if len(text) <= maxWord {
		return text
	}
	return strings.ToValidUTF8(text[:maxWord], "") + "…"
}
