// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package prov writes audit records as W3C PROV in Turtle (PROV-O, RDF 1.1 Turtle). docs/audit.md has the mapping.
//
// It imports nothing of the project but the record's shape and the words of MCP.
package prov

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/audit"
	"toolgate.dev/toolgate/internal/mcp"
)

// header declares the prefixes. Ours holds what PROV and the older vocabulary have no word for.
const header = `@prefix mcp: <http://nkllon.com/ontology/mcp#> .
@prefix prov: <http://www.w3.org/ns/prov#> .
@prefix toolgate: <https://toolgate.dev/ns/audit#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
`

// asked are the requests that a server sends to a client: there the record's caller is who was asked.
var asked = map[string]bool{mcp.MethodCreateMessage: true, mcp.MethodElicit: true, mcp.MethodListRoots: true}

// Writer writes one document.
type Writer struct {
	out    io.Writer
	begun  bool
	agents map[string]bool
	text   strings.Builder
}

// NewWriter gives a writer of one document.
func NewWriter(out io.Writer) *Writer { return &Writer{out: out, agents: map[string]bool{}} }

// Close writes what stands at the head of a document, where no record has.
func (w *Writer) Close() error {
	w.text.Reset()
	w.begin()
	return w.flush()
}

// Write writes one record: an entity for the record, an activity for what it tells of, and entities for arguments and result.
func (w *Writer) Write(r *audit.Record) error {
	w.text.Reset()
	w.begin()
	if r.Outcome == audit.Gap {
		w.gap(r)
		return w.flush()
	}
	caller, server := iri("caller", r.Caller), iri("server", r.Server)
	w.agent(caller, r.Caller)
	w.agent(server, r.Server)
	if asked[r.Method] {
		caller, server = server, caller // the source is who asks
	}
	record := recordIRI(r.Run, r.Sequence)
	activity := r.Sequence
	if r.StartedAs != 0 {
		activity = r.StartedAs // the record of a call's start and that of its end tell of one activity
	}
	w.record(record, r, caller, server, activityIRI(r.Run, activity))
	w.activity(record, r, activityIRI(r.Run, activity), caller, server)
	return w.flush()
}

func (w *Writer) begin() {
	if !w.begun {
		w.begun = true
		w.text.WriteString(header)
	}
}

func (w *Writer) flush() error {
	_, err := io.WriteString(w.out, w.text.String())
	return err
}

// agent declares an agent where it is first named.
func (w *Writer) agent(id, label string) {
	if w.agents[id] {
		return
	}
	w.agents[id] = true
	w.node(id, "prov:Agent", property{"toolgate:name", literal(label)})
}

// property is one predicate with its object; an empty object leaves it out.
type property struct{ predicate, object string }

func (w *Writer) node(subject, class string, properties ...property) {
	fmt.Fprintf(&w.text, "\n%s\n    a %s", subject, class)
	for _, p := range properties {
		if p.object != "" {
			fmt.Fprintf(&w.text, " ;\n    %s %s", p.predicate, p.object)
		}
	}
	w.text.WriteString(" .\n")
}

// record is the entity that stands for one line: the terms that consumers of the older vocabulary read, and the chain.
func (w *Writer) record(id string, r *audit.Record, caller, server, activity string) {
	w.node(id, "prov:Entity",
		property{"mcp:traceId", literal(r.TraceID)},
		property{"mcp:sourceAgent", caller},
		property{"mcp:targetAgent", server},
		property{"mcp:interactionType", literal(r.Method)},
		property{"mcp:status", literal(string(r.Outcome))},
		property{"mcp:durationMs", decimal(r.Duration)},
		property{"prov:generatedAtTime", instant(r.Time)},
		property{"prov:wasGeneratedBy", activity},
		property{"toolgate:run", optional(r.Run)},
		property{"toolgate:sequence", strconv.FormatUint(r.Sequence, 10)},
		property{"toolgate:previous", optional(r.Previous)},
		property{"toolgate:tool", optional(r.Tool)},
		property{"toolgate:toolDigest", optional(r.ToolDigest)},
		property{"toolgate:client", optional(r.Client)},
		property{"toolgate:span", optional(r.Span)},
		property{"toolgate:parentSpan", optional(r.Parent)},
		property{"toolgate:errorKind", optional(string(r.Kind))},
		property{"toolgate:reason", optional(r.Reason)},
		property{"toolgate:rule", optional(r.Rule)},
		property{"toolgate:registryDigest", optional(r.RegistryDigest)},
		property{"toolgate:stages", stages(r)},
	)
}

// activity is what the record tells of: who took part, when, and what went in and came out.
func (w *Writer) activity(record string, r *audit.Record, id, caller, server string) {
	var began, ended string
	if r.Outcome == audit.Started {
		began = instant(r.Time)
	} else {
		ended = instant(r.Time)
		if r.StartedAs == 0 { // otherwise the record of the start says when
			began = instant(r.Time.Add(-time.Duration(r.Duration * float64(time.Millisecond))))
		}
	}
	arguments, result := part(record, "arguments", r.ArgumentsDigest), part(record, "result", r.ResultDigest)
	w.node(id, "prov:Activity",
		property{"prov:startedAtTime", began},
		property{"prov:endedAtTime", ended},
		property{"prov:wasAssociatedWith", caller + ", " + server},
		property{"prov:used", arguments},
	)
	if arguments != "" {
		w.node(arguments, "prov:Entity",
			property{"toolgate:digest", literal(r.ArgumentsDigest)}, property{"toolgate:bytes", strconv.Itoa(r.ArgumentsBytes)},
			property{"prov:value", optional(string(r.Arguments))})
	}
	if result != "" {
		w.node(result, "prov:Entity",
			property{"toolgate:digest", literal(r.ResultDigest)}, property{"toolgate:bytes", strconv.Itoa(r.ResultBytes)},
			property{"prov:value", optional(string(r.Result))}, property{"prov:wasGeneratedBy", id})
	}
}

// gap is the entity of records that could not be written.
func (w *Writer) gap(r *audit.Record) {
	w.node(recordIRI(r.Run, r.Sequence), "prov:Entity",
		property{"mcp:status", literal(string(r.Outcome))},
		property{"prov:generatedAtTime", instant(r.Time)},
		property{"toolgate:run", optional(r.Run)},
		property{"toolgate:sequence", strconv.FormatUint(r.Sequence, 10)},
		property{"toolgate:previous", optional(r.Previous)},
		property{"toolgate:lostRecords", strconv.FormatUint(r.Lost, 10)},
	)
}

// stages are the stages' words as one list, in order: `tool=pass, gate=refuse`.
func stages(r *audit.Record) string {
	words := make([]string, 0, len(r.Stages))
	for _, s := range r.Stages {
		words = append(words, string(s.Stage)+"="+string(s.Verdict))
	}
	return optional(strings.Join(words, ", "))
}
