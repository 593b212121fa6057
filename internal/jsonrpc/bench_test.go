// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

// benchmarkMessages are a small call, a call and a result of about 1 kB, and results of about 100 kB: prose, and numbers.
func benchmarkMessages() map[string][]byte {
	args := `{"path":"/srv/data/report.txt","edits":[{"oldText":"` + strings.Repeat("alpha beta ", 40) + `","newText":"` + strings.Repeat("gamma\\n ", 40) + `"}],"dryRun":false}`
	text := strings.Repeat(`Lorem ipsum dolor sit amet, \"consectetur\" adipiscing elit.\n`, 1600)
	rows := strings.Repeat(`{"id":12345,"name":"row","value":-1.25e3,"ok":true,"tags":["a","b"]},`, 1450)
	return map[string][]byte{
		"call-150B":    []byte(call(`"name":"echo","arguments":{"message":"hello"},"_meta":{"progressToken":7}`)),
		"call-1kB":     []byte(call(`"name":"edit_file","arguments":` + args + `,"_meta":{"progressToken":"t1"}`)),
		"result-1kB":   []byte(`{"jsonrpc":"2.0","id":5,"result":{"content":[{"type":"text","text":"` + text[:900] + `"}],"isError":false}}`),
		"result-100kB": []byte(`{"jsonrpc":"2.0","id":5,"result":{"content":[{"type":"text","text":"` + text + `"}]}}`),
		"rows-100kB":   []byte(`{"jsonrpc":"2.0","id":5,"result":{"structuredContent":{"rows":[` + rows + `0]},"content":[]}}`),
		"cjk-100kB":    []byte(`{"jsonrpc":"2.0","id":5,"result":{"content":[{"type":"text","text":"` + strings.Repeat("工具門番です。", 4800) + `"}]}}`),
	}
}

func BenchmarkParse(b *testing.B) {
	for name, data := range benchmarkMessages() {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse(data, Limits{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkEncodingJSON is the same work for a reader that does less: it checks neither keys nor surrogates.
func BenchmarkEncodingJSON(b *testing.B) {
	for name, data := range benchmarkMessages() {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				var m lenient
				if err := json.Unmarshal(data, &m); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkForward is what the dispatcher does with one call: parse, look at its name, check its arguments' keys, replace
// the token, write it with another id.
func BenchmarkForward(b *testing.B) {
	data := benchmarkMessages()["call-1kB"]
	declared := NewDeclared([]string{"path", "edits", "dryRun"})
	buffer := make([]byte, 0, 2*len(data))
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		m, err := Parse(data, Limits{})
		if err != nil {
			b.Fatal(err)
		}
		if err := declared.Check(m.Param("arguments")); err != nil {
			b.Fatal(err)
		}
		meta := ReplaceMembers(m.Meta(), Edit{Key: "progressToken", Raw: []byte("99")})
		params := ReplaceMembers(m.Params, Edit{Key: "_meta", Raw: meta})
		buffer = AppendRequest(buffer[:0], rawID("1234"), m.Method, params)
	}
}

func BenchmarkCheckManyKeys(b *testing.B) {
	var text strings.Builder
	text.WriteString(`{"first":0`)
	for i := range 100_000 {
		fmt.Fprintf(&text, `,"key%d":0`, i)
	}
	data := []byte(text.String() + "}")
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if err := Check(data, Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCheckToolList(b *testing.B) {
	data, err := os.ReadFile("../../../shared/data/tool-lists/git.json")
	if err != nil {
		b.Skipf("no tool list to read: %v", err)
	}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if err := Check(data, Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}
