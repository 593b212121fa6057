// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package prov

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// iri gives an IRI of ours, whatever the name holds: percent-encoded (RFC 3986), so that no name can end it early.
func iri(kind, name string) string {
	return "<urn:toolgate:" + kind + ":" + strings.ReplaceAll(url.QueryEscape(name), "+", "%20") + ">"
}

func recordIRI(run string, sequence uint64) string {
	return iri("record", run+"."+strconv.FormatUint(sequence, 10))
}

func activityIRI(run string, sequence uint64) string {
	return iri("activity", run+"."+strconv.FormatUint(sequence, 10))
}

// part is the IRI of what belongs to a record, empty where that has no digest.
func part(record, name, digest string) string {
	if digest == "" {
		return ""
	}
	return strings.TrimSuffix(record, ">") + "#" + name + ">"
}

// literal gives a string literal (RDF 1.1 Turtle, STRING_LITERAL_QUOTE): quotes, backslashes and control characters escaped,
// bytes that are no UTF-8 replaced.
func literal(text string) string {
	var out strings.Builder
	out.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			out.WriteByte('\\')
			out.WriteRune(r)
		case r == '\n':
			out.WriteString(`\n`)
		case r == '\r':
			out.WriteString(`\r`)
		case r < 0x20 || r == 0x7f || r == 0xfffe || r == 0xffff:
			fmt.Fprintf(&out, `\u%04X`, r)
		default:
			out.WriteRune(r) // utf8.RuneError where the bytes were none
		}
	}
	out.WriteByte('"')
	return out.String()
}

// optional is a literal, empty for an empty text.
func optional(text string) string {
	if text == "" {
		return ""
	}
	return literal(text)
}

// decimal is a duration in milliseconds as xsd:decimal, which knows no exponents; empty for none.
func decimal(ms float64) string {
	if ms <= 0 {
		return ""
	}
	text := strconv.FormatFloat(ms, 'f', -1, 64)
	return `"` + text + `"^^xsd:decimal`
}

// instant is a time as xsd:dateTime.
func instant(t time.Time) string {
	return `"` + t.UTC().Format(time.RFC3339Nano) + `"^^xsd:dateTime`
}
