// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/rules"
	"toolgate.dev/toolgate/internal/testutil/documents"
)

// policy makes a document strict or lax.
type policy func(*registry.Document)

// minimal leaves what cannot be switched off: strict parsing, the known tool, its pin, the gate, the audit record.
func minimal(d *registry.Document) {
	d.Policy.Validation = registry.Validation{Arguments: registry.Off, Results: registry.Off}
}

// full has every stage at work: a rate limit, arguments and results against their schemas, two rule sets in CEL over
// arguments, caller and tool, and one in JSON Schema. None of them refuses the call.
func full(d *registry.Document) {
	d.Policy.Limits.RequestsPerMinute = 1 << 30
	d.Policy.Validation = registry.Validation{Arguments: registry.Enforce, Results: registry.Enforce, AssertFormats: true}
	d.RuleSets = []rules.Set{
		{Name: "a-safety", Type: rules.TypeSafety, Format: rules.FormatCEL, Rules: []rules.Rule{
			{Name: "no-secrets", Action: rules.Reject, When: `args.text.contains("password") || args.text.startsWith("/etc/")`},
			{Name: "trusted-only", Action: rules.Reject, When: `tool.destructive && server.trust != "Trusted"`},
		}},
		{Name: "b-policy", Type: rules.TypePolicy, Format: rules.FormatCEL, Rules: []rules.Rule{
			{Name: "size", Action: rules.Reject, Require: `args.bytes <= 1000000000`},
			{Name: "revision", Action: rules.Warn, When: `call.protocolVersion < "2024-11-05"`},
		}},
		{Name: "c-validation", Type: rules.TypeValidation, Format: rules.FormatJSONSchema, Rules: []rules.Rule{
			{Name: "short", Action: rules.Reject, Schema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string","maxLength":1000}}}`)},
		}},
	}
}

const revision = "bench"

// document admits n tools of the server, which is not trusted and shows nothing else.
func document(n int, change policy) (*registry.Document, error) {
	all := definitions(n)
	raw := make([]json.RawMessage, len(all))
	for i, d := range all {
		raw[i] = json.RawMessage(d)
	}
	doc, err := documents.Admitting(revision, raw...)
	if err != nil {
		return nil, err
	}
	doc.Policy.Trust, doc.Policy.Client, doc.Policy.Expose = registry.Trust{}, registry.Client{}, registry.Expose{Tools: true}
	doc.Policy.Limits.MaxConcurrent = 1024
	change(doc)
	return doc, nil
}

// write puts a document in the place of a file, at once.
func write(doc *registry.Document, file string) error {
	data, _, err := doc.Encode()
	if err != nil {
		return err
	}
	if err := os.WriteFile(file+".next", data, 0o600); err != nil {
		return err
	}
	return os.Rename(file+".next", file)
}

func (w *world) dispatcherMaker(change policy) func(context.Context, *target) error {
	return func(ctx context.Context, t *target) error {
		doc, err := document(1, change)
		if err != nil {
			return err
		}
		return w.dispatcher(ctx, t, doc, true)
	}
}

// tools is how many tools a document's server lists.
func tools(doc *registry.Document) string { return fmt.Sprint(len(doc.Revisions[revision].Tools)) }

// dispatcher starts a dispatcher as a pod has it: a stdio server behind the launcher, or an HTTP server beside it. Its
// audit goes to a file. now says that the document is there from the beginning.
func (w *world) dispatcher(ctx context.Context, t *target, doc *registry.Document, now bool) (err error) {
	dir, err := os.MkdirTemp(w.dir, "dispatcher-")
	if err != nil {
		return err
	}
	t.file = filepath.Join(dir, "registry", registry.FileName)
	if err := os.Mkdir(filepath.Dir(t.file), 0o700); err != nil {
		return err
	}
	args := []string{"serve", "--registry", t.file, "--log-level", "error"}
	if w.options.profile {
		folder, err := w.profileOf(t)
		if err != nil {
			return err
		}
		args = append(args, "--profile", folder)
	}
	for _, one := range []struct {
		flag string
		into *string
	}{{"--listen", &t.address}, {"--admin-listen", &t.admin}, {"--probe-listen", &t.probe}} {
		if *one.into, err = freeAddress(); err != nil {
			return err
		}
		args = append(args, one.flag, *one.into)
	}
	switch t.transport {
	case overStdio:
		socket := filepath.Join(dir, "launch.sock")
		launcher := command(ctx, w.options.dispatcher, "launch", "--socket", socket, "--", w.self, roleStdio, tools(doc))
		if err := launcher.Start(); err != nil {
			return err
		}
		t.others = append(t.others, launcher)
		args = append(args, "--launch-socket", socket)
		if err := poll(ctx, func() error { _, err := os.Stat(socket); return err }); err != nil {
			return err
		}
	case overHTTP:
		server, err := w.server(ctx, t, tools(doc))
		if err != nil {
			return err
		}
		doc.Upstream = registry.Upstream{Transport: registry.TransportStreamableHTTP, URL: "http://" + server + "/mcp"}
	}
	audit, err := os.Create(filepath.Join(dir, "audit.jsonl"))
	if err != nil {
		return err
	}
	defer audit.Close() //nolint:errcheck // the process has its own
	cmd := command(ctx, w.options.dispatcher, args...)
	cmd.Stdout = audit
	if !now {
		t.main = cmd
		return cmd.Start()
	}
	if err := write(doc, t.file); err != nil {
		return err
	}
	return t.begin(ctx, cmd)
}

// ready waits until the kubelet would call the dispatcher ready.
func (t *target) ready(ctx context.Context) error {
	return poll(ctx, func() error {
		if status, err := t.get(t.probe, "/readyz"); err != nil || status != 200 {
			return fmt.Errorf("status %d: %w", status, err)
		}
		return nil
	})
}

// get asks over a connection of its own; the answer's first bytes are not kept.
func (t *target) get(address, path string) (int, error) {
	c, err := dialHTTP(address)
	if err != nil {
		return 0, err
	}
	defer c.Close() //nolint:errcheck // it was only asked
	if err := c.SetDeadline(time.Now().Add(startTimeout)); err != nil {
		return 0, err
	}
	_, err = c.exchange([]byte("GET " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"))
	return c.status, err
}
