// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/test/dataplane/serving"
)

// dispatcher is a running `dispatcher serve`.
type dispatcher struct {
	t testing.TB
	*serving.Dispatcher
	// mcp and admin are the base URLs of its listeners.
	mcp, admin string
	audit, log *serving.Text
}

// serve starts a dispatcher with a document, and ends it with the test. A command is started over stdio.
func serve(t testing.TB, doc *registry.Document, command ...string) *dispatcher {
	t.Helper()
	return serveFile(t, write(t, doc), command...)
}

func serveFile(t testing.TB, file string, command ...string) *dispatcher {
	t.Helper()
	if len(command) == 0 {
		return serveWith(t, file)
	}
	return serveWith(t, file, append([]string{"--stdio", "--"}, command...)...)
}

// serveWith starts a dispatcher with flags of the test's own.
func serveWith(t testing.TB, file string, flags ...string) *dispatcher {
	t.Helper()
	running := must[*serving.Dispatcher](t)(serving.Start(binaries.dispatcher, file, flags...))
	d := &dispatcher{t: t, Dispatcher: running, mcp: running.MCP, admin: running.Admin, audit: running.Audit, log: running.Log}
	t.Cleanup(func() {
		if d.stop(); t.Failed() {
			t.Logf("the dispatcher's log:\n%s", d.log.Last(40))
		}
	})
	return d
}

// terminate asks the dispatcher to end, and does not wait.
func (d *dispatcher) terminate() { d.Terminate() }

// stop ends the dispatcher and waits for it, and for it to have ended well.
func (d *dispatcher) stop() {
	d.t.Helper()
	if err := d.Stop(); err != nil {
		d.t.Error(err)
	}
}

// state is what GET /state answers.
func (d *dispatcher) state() registry.State {
	d.t.Helper()
	var s registry.State
	d.get(d.admin+"/state", &s)
	return s
}

// get reads a JSON document.
func (d *dispatcher) get(url string, into any) {
	d.t.Helper()
	resp := must[*http.Response](d.t)(web.Get(url))
	defer resp.Body.Close() //nolint:errcheck // what matters was read
	body := must[[]byte](d.t)(io.ReadAll(resp.Body))
	if err := json.Unmarshal(body, into); err != nil || resp.StatusCode != http.StatusOK {
		d.t.Fatalf("GET %s: %s %s: %v", url, resp.Status, body, err)
	}
}

// until waits for a state.
func (d *dispatcher) until(what string, fits func(registry.State) bool) registry.State {
	d.t.Helper()
	var last registry.State
	defer func() {
		if d.t.Failed() {
			d.t.Logf("the last state: %+v", last)
		}
	}()
	await(d.t, what, func() bool { last = d.state(); return fits(last) })
	return last
}

// recorded waits for an audit record of an outcome: records come through a pipe of their own, which may be behind the answers.
func (d *dispatcher) recorded(outcome string) {
	d.t.Helper()
	await(d.t, "the audit has a record of "+outcome, func() bool { return strings.Contains(d.audit.String(), `"outcome":"`+outcome+`"`) })
}

// ready waits until clients are served.
func (d *dispatcher) ready() *dispatcher {
	d.t.Helper()
	d.until("the dispatcher is ready", func(s registry.State) bool { return s.Ready })
	return d
}
