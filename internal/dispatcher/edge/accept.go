// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package edge

import (
	"net/http"
	"strconv"
	"strings"
)

// Accepts are the media types that a client takes.
type Accepts struct {
	JSON, EventStream bool
}

// Accept reads the Accept header in every form that clients send: both types, one of them, ranges, none at all (which takes
// anything, RFC 9110, section 12.5.1), several header lines, parameters, any case. A type with q=0 is not taken.
func Accept(r *http.Request) Accepts {
	lines := r.Header.Values("Accept")
	if strings.TrimSpace(strings.Join(lines, "")) == "" {
		return Accepts{JSON: true, EventStream: true}
	}
	var json, stream preference
	for _, line := range lines {
		for part := range strings.SplitSeq(line, ",") {
			name, params, _ := strings.Cut(part, ";")
			name = strings.ToLower(strings.TrimSpace(name))
			takes := quality(params) > 0
			json.consider(name, "application/json", takes)
			stream.consider(name, "text/event-stream", takes)
		}
	}
	return Accepts{JSON: json.takes, EventStream: stream.takes}
}

// preference is what the most specific range so far says about one type.
type preference struct {
	specific int
	takes    bool
}

func (p *preference) consider(name, mediaType string, takes bool) {
	specific := 0
	family, _, _ := strings.Cut(mediaType, "/")
	switch name {
	case mediaType:
		specific = 3
	case family + "/*":
		specific = 2
	case "*/*", "*":
		specific = 1
	}
	if specific > p.specific {
		p.specific, p.takes = specific, takes
	}
}

func quality(params string) float64 {
	for param := range strings.SplitSeq(params, ";") {
		key, value, _ := strings.Cut(strings.TrimSpace(param), "=")
		if strings.EqualFold(key, "q") {
			q, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return 0
			}
			return q
		}
	}
	return 1
}
