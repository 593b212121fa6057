// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"testing"
)

// direct is a server that is spoken to without a dispatcher: the oracle of what the answers would be.
type direct struct {
	t   testing.TB
	in  io.Writer
	out *bufio.Reader
	ids int
}

// speakTo starts a server, and ends it with the test.
func speakTo(t testing.TB, command []string) *direct {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	in, out := must[io.WriteCloser](t)(cmd.StdinPipe()), must[io.ReadCloser](t)(cmd.StdoutPipe())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()         // the end of its input ends a server
		_ = cmd.Process.Kill() // or this does
		_ = cmd.Wait()         // it may have been killed
	})
	d := &direct{t: t, in: in, out: bufio.NewReaderSize(out, 1<<20)}
	d.tell(initialize(latest))
	d.answer(`"init"`)
	d.tell(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return d
}

func (d *direct) tell(message string) {
	d.t.Helper()
	if _, err := io.WriteString(d.in, message+"\n"); err != nil {
		d.t.Fatal(err)
	}
}

// ask sends a request and gives its result.
func (d *direct) ask(method, params string) json.RawMessage {
	d.t.Helper()
	d.ids++
	d.tell(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, d.ids, method, params))
	return d.answer(fmt.Sprint(d.ids))
}

// answer reads up to the answer with an id, past banners and notifications.
func (d *direct) answer(id string) json.RawMessage {
	d.t.Helper()
	for {
		line, err := d.out.ReadBytes('\n')
		if err != nil {
			d.t.Fatalf("no answer %s: %v", id, err)
		}
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Result json.RawMessage `json:"result"`
			Error  json.RawMessage `json:"error"`
		}
		if json.Unmarshal(line, &m) != nil || string(m.ID) != id || m.Method != "" {
			continue
		}
		if m.Error != nil {
			d.t.Fatalf("answer %s is an error: %s", id, m.Error)
		}
		return m.Result
	}
}
