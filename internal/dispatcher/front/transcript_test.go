// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"fmt"
	"net/http"
	"net/textproto"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"toolgate.dev/toolgate/internal/testutil/transcript"
)

// TestTranscripts plays testdata/*.txtar: a file named by an HTTP method is a request (header lines, an empty line, the
// body), the file after it is the answer, named by its status, with the header lines that matter. A file named received is
// what reached the server since the last one: method and params, a line each. {session} is the id that initialize gave.
func TestTranscripts(t *testing.T) {
	transcript.Play(t, "testdata/*.txtar", func(t *testing.T, files []txtar.File) {
		p := &player{fixture: newFixture(t, nil)}
		for i := range files {
			p.play(files, i)
		}
	})
}

// player replaces the answers of a transcript by those that it gets.
type player struct {
	*fixture
	sessionID string
	heard     int
}

func (p *player) play(files []txtar.File, i int) {
	file := &files[i]
	switch file.Name {
	case http.MethodPost, http.MethodGet, http.MethodDelete, http.MethodPut:
		if i+1 < len(files) {
			p.exchange(file, &files[i+1])
		}
	case "received":
		all := p.server.Received()
		file.Data = []byte(all[p.heard:])
		p.heard = len(all)
	}
}

func (p *player) exchange(request, answer *txtar.File) {
	head, body := split(p.fill(string(request.Data)))
	header := http.Header{}
	for line := range strings.Lines(head) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		header.Add(name, strings.TrimSpace(value))
	}
	w := p.send(request.Name, header, strings.TrimSuffix(body, "\n"))
	if id := w.Header().Get(headerSession); id != "" {
		p.sessionID = id
	}
	// Only the headers that the transcript names are looked at.
	wanted, _ := split(string(answer.Data))
	var out strings.Builder
	for line := range strings.Lines(wanted) {
		name, _, _ := strings.Cut(line, ":")
		name = textproto.CanonicalMIMEHeaderKey(name)
		if slices.Contains([]string{"", "\n"}, line) {
			continue
		}
		fmt.Fprintf(&out, "%s: %s\n", name, w.Header().Get(name))
	}
	out.WriteString("\n" + w.Body.String())
	answer.Name = fmt.Sprint(w.Code)
	answer.Data = []byte(p.hide(out.String()))
}

func (p *player) fill(text string) string { return strings.ReplaceAll(text, "{session}", p.sessionID) }

var traceIDs = regexp.MustCompile(`"traceId":"[0-9a-f]{32}"`)

func (p *player) hide(text string) string {
	if p.sessionID != "" {
		text = strings.ReplaceAll(text, p.sessionID, "{session}")
	}
	text = traceIDs.ReplaceAllString(text, `"traceId":"{trace}"`)
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text
}

func split(data string) (head, body string) {
	if strings.HasPrefix(data, "\n") {
		return "", data[1:]
	}
	head, body, _ = strings.Cut(data, "\n\n")
	return head + "\n", body
}
