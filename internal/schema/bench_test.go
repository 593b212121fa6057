// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"testing"

	"toolgate.dev/toolgate/internal/schema"
	"toolgate.dev/toolgate/internal/schema/schematest"
)

const benchSchema = `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"path":{"type":"string"},
	"edits":{"type":"array","items":{"type":"object","properties":{"oldText":{"type":"string"},"newText":{"type":"string"}},
	"required":["oldText","newText"],"additionalProperties":false}},"dryRun":{"type":"boolean","default":false}},
	"required":["path","edits"],"additionalProperties":false}`

const benchInstance = `{"path":"/home/ann/notes/today.txt","edits":[{"oldText":"a few words of text","newText":"a few other words"},
	{"oldText":"and one more","newText":"and one less, with \"quotes\""}],"dryRun":true}`

func BenchmarkValidate(b *testing.B) {
	s := compile(b, benchSchema, schema.Options{RequireObject: true})
	b.ReportAllocs()
	b.SetBytes(int64(len(benchInstance)))
	for b.Loop() {
		if vs := s.Validate([]byte(benchInstance)); vs != nil {
			b.Fatal(vs)
		}
	}
}

func BenchmarkViolations(b *testing.B) {
	s := compile(b, benchSchema, schema.Options{RequireObject: true})
	b.ReportAllocs()
	for b.Loop() {
		if vs := s.Validate([]byte(`{"path":1,"edits":[{"oldText":"a"}],"x":1}`)); len(vs) != 3 {
			b.Fatal(vs)
		}
	}
}

func BenchmarkWithDefaults(b *testing.B) {
	s := compile(b, benchSchema, schema.Options{})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.WithDefaults([]byte(`{"path":"/a","edits":[]}`)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCompileRealTools compiles every input schema of the recorded servers: one operation is all of them.
func BenchmarkCompileRealTools(b *testing.B) {
	var schemas [][]byte
	eachTool(b, func(_ string, tool tool) { schemas = append(schemas, tool.InputSchema) })
	for b.Loop() {
		for _, raw := range schemas {
			if _, err := schema.Compile(raw, schema.Options{}); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(schemas)), "µs/schema")
}

// BenchmarkValidateRealTools validates one instance of every recorded tool: one operation is all of them.
func BenchmarkValidateRealTools(b *testing.B) {
	var schemas []*schema.Schema
	var instances [][]byte
	eachTool(b, func(_ string, tool tool) {
		instance, err := schematest.Instance(tool.InputSchema)
		if err != nil {
			b.Fatal(err)
		}
		schemas = append(schemas, compile(b, string(tool.InputSchema), schema.Options{}))
		instances = append(instances, instance)
	})
	for b.Loop() {
		for i, s := range schemas {
			if vs := s.Validate(instances[i]); vs != nil {
				b.Fatal(vs)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(schemas)), "µs/instance")
}
