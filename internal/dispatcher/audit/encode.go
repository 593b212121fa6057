// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"toolgate.dev/toolgate/internal/dispatcher/policy"
	"toolgate.dev/toolgate/internal/jsonrpc"
)

// encode appends the record as one line, at most MaxLine long: first the payloads go, then the stages' messages, then every text
// is cut, and what names the message stays.
func encode(dst []byte, r *Record, previous []byte) ([]byte, error) {
	start := len(dst)
	if dst = appendRecord(dst, r, previous); len(dst)-start <= MaxLine {
		return dst, nil
	}
	short := *r
	for _, p := range []struct {
		name  string
		value *json.RawMessage
	}{{"result", &short.Result}, {"arguments", &short.Arguments}} {
		if *p.value == nil {
			continue
		}
		*p.value, short.Omitted = nil, append(slices.Clone(short.Omitted), p.name)
		if dst = appendRecord(dst[:start], &short, previous); len(dst)-start <= MaxLine {
			return dst, nil
		}
	}
	short.Stages = nil
	for _, s := range r.Stages {
		s.Message = ""
		short.Stages = append(short.Stages, s)
	}
	for limit := 512; ; limit /= 2 {
		for _, text := range []*string{&short.Parent, &short.Caller, &short.Client, &short.Server, &short.Method, &short.Tool, &short.Reason, &short.Rule} {
			*text = cut(*text, limit)
		}
		short.Audited = short.Audited[:min(len(short.Audited), limit/16)]
		if dst = appendRecord(dst[:start], &short, previous); len(dst)-start <= MaxLine {
			return dst, nil
		}
		if limit == 0 {
			return dst[:start], fmt.Errorf("record of %d bytes does not fit %d", len(dst)-start, MaxLine)
		}
	}
}

func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit] + "…"
}

// appendRecord writes what encoding/json would write, by the tags of Record, without reflection and without memory of its
// own: every call ends in one. A test holds the two together, member by member.
func appendRecord(dst []byte, r *Record, previous []byte) []byte {
	dst = append(dst, `{"time":"`...)
	dst = append(r.Time.AppendFormat(dst, time.RFC3339Nano), '"')
	dst = text(dst, `,"run":`, r.Run)
	dst = strconv.AppendUint(append(dst, `,"seq":`...), r.Sequence, 10)
	if len(previous) > 0 {
		dst = append(append(append(dst, `,"prev":"`...), previous...), '"')
	}
	dst = text(dst, `,"trace_id":`, r.TraceID)
	dst = optional(dst, `,"span_id":`, r.Span)
	dst = optional(dst, `,"parent":`, r.Parent)
	dst = text(dst, `,"caller":`, r.Caller)
	dst = optional(dst, `,"client":`, r.Client)
	dst = text(dst, `,"server":`, r.Server)
	dst = text(dst, `,"method":`, r.Method)
	dst = optional(dst, `,"tool":`, r.Tool)
	dst = text(dst, `,"outcome":`, string(r.Outcome))
	dst = optional(dst, `,"error_kind":`, string(r.Kind))
	dst = optional(dst, `,"reason":`, r.Reason)
	dst = optional(dst, `,"rule":`, r.Rule)
	dst = stages(dst, r.Stages)
	dst = texts(dst, `,"audited":[`, r.Audited)
	if r.Duration != 0 {
		dst = strconv.AppendFloat(append(dst, `,"duration_ms":`...), r.Duration, 'f', -1, 64)
	}
	dst = optional(dst, `,"arguments_digest":`, r.ArgumentsDigest)
	dst = number(dst, `,"arguments_bytes":`, uint64(r.ArgumentsBytes))
	dst = optional(dst, `,"result_digest":`, r.ResultDigest)
	dst = number(dst, `,"result_bytes":`, uint64(r.ResultBytes))
	dst = optional(dst, `,"registry_digest":`, r.RegistryDigest)
	dst = optional(dst, `,"tool_digest":`, r.ToolDigest)
	dst = payload(dst, `,"arguments":`, r.Arguments)
	dst = payload(dst, `,"result":`, r.Result)
	dst = texts(dst, `,"omitted":[`, r.Omitted)
	dst = number(dst, `,"started_as":`, r.StartedAs)
	dst = number(dst, `,"lost":`, r.Lost)
	return append(dst, "}\n"...)
}

func text(dst []byte, key, value string) []byte {
	return jsonrpc.AppendString(append(dst, key...), value)
}

func optional(dst []byte, key, value string) []byte {
	if value == "" {
		return dst
	}
	return text(dst, key, value)
}

func number(dst []byte, key string, value uint64) []byte {
	if value == 0 {
		return dst
	}
	return strconv.AppendUint(append(dst, key...), value, 10)
}

// payload writes JSON that was checked before, without the line breaks that it may have between its tokens.
func payload(dst []byte, key string, value []byte) []byte {
	if len(value) == 0 {
		return dst
	}
	return jsonrpc.AppendCompactLines(append(dst, key...), value)
}

func stages(dst []byte, all []policy.StageResult) []byte {
	if len(all) == 0 {
		return dst
	}
	dst = append(dst, `,"stages":[`...)
	for i := range all {
		s := &all[i]
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = text(dst, `{"stage":`, string(s.Stage))
		dst = text(dst, `,"verdict":`, string(s.Verdict))
		dst = optional(dst, `,"rule":`, s.Rule)
		dst = append(optional(dst, `,"message":`, s.Message), '}')
	}
	return append(dst, ']')
}

func texts(dst []byte, key string, values []string) []byte {
	if len(values) == 0 {
		return dst
	}
	dst = append(dst, key...)
	for i, value := range values {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsonrpc.AppendString(dst, value)
	}
	return append(dst, ']')
}
