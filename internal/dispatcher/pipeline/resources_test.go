// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"toolgate.dev/toolgate/internal/dispatcher/domainmodel"
	"toolgate.dev/toolgate/internal/dispatcher/policy"
	"toolgate.dev/toolgate/internal/dispatcher/requests"
	"toolgate.dev/toolgate/internal/registry"
)

func (f *fixture) resource(method, uri string) requests.Answer {
	return f.Do(context.Background(), &requests.Request{
		Call: policy.Call{Method: method, URI: uri, ProtocolVersion: "2025-11-25"}, Params: []byte(`{"uri":"` + uri + `"}`),
		Source: f, Caller: requests.Caller{Address: "10.0.0.1"},
	})
}

func TestTheDomainModelIsTheDispatchersOwn(t *testing.T) {
	f := newFixture(t, nil)
	if a := f.resource("resources/read", domainmodel.URI); a.Error == nil || f.conns != 0 {
		t.Errorf("without a model: %+v, %d connections", a, f.conns)
	}
	path := filepath.Join(t.TempDir(), "model.md")
	if err := os.WriteFile(path, []byte("# Builds"), 0o600); err != nil {
		t.Fatal(err)
	}
	f.Model.Use(registry.DomainModel{File: path, Format: registry.ModelMarkdown})
	f.Model.Look()
	if a := f.resource("resources/read", domainmodel.URI); !strings.Contains(string(a.Result), "# Builds") {
		t.Errorf("read: %+v", a)
	}
	for _, uri := range []string{"toolgate://other", "TOOLGATE://domain-model"} {
		if a := f.resource("resources/read", uri); a.Error == nil || a.Error.Code != -32002 {
			t.Errorf("%s: %+v", uri, a)
		}
	}
	if a := f.resource("resources/subscribe", domainmodel.URI); a.Error == nil {
		t.Errorf("subscribed: %+v", a)
	}
	if f.conns != 0 || strings.Contains(f.server.Received(), "toolgate") {
		t.Errorf("the server was asked: %s", f.server.Received())
	}
	if a := f.resource("resources/list", ""); !strings.Contains(string(a.Result), domainmodel.URI) {
		t.Errorf("list: %+v", a)
	}
	if !strings.Contains(f.audit.String(), "resources/read") {
		t.Error("reading it left no record")
	}
	f.apply(t, func(d *registry.Document) { d.Policy.Expose.Resources = false })
	if a := f.resource("resources/read", domainmodel.URI); a.Refusal == nil || a.Refusal.Reason != "NotExposed" {
		t.Errorf("with resources denied: %+v", a)
	}
}
