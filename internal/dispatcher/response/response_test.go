// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package response

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"toolgate.dev/toolgate/internal/dispatcher/stream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func responseTo(w http.ResponseWriter, r *http.Request) *Response {
	response := &Response{}
	response.To(w, r)
	return response
}

func request(accept string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
	r.Header.Set("Accept", accept)
	return r
}

const both = "application/json, text/event-stream"

func TestForms(t *testing.T) {
	cases := map[string]struct {
		accept       string
		events       []string
		status       int
		answer       string
		wantType     string
		want         string
		wantRejected bool // an event was not taken
	}{
		"nothing precedes: JSON":           {accept: both, status: 200, answer: `{"a":1}`, wantType: "application/json", want: `{"a":1}`},
		"something precedes: events":       {accept: both, events: []string{`{"p":1}`}, status: 200, answer: `{"a":1}`, wantType: "text/event-stream", want: "event: message\ndata: {\"p\":1}\n\nevent: message\ndata: {\"a\":1}\n\n"},
		"JSON only: events are not taken":  {accept: "application/json", events: []string{`{"p":1}`}, status: 200, answer: `{"a":1}`, wantType: "application/json", want: `{"a":1}`, wantRejected: true},
		"events only: the answer is one":   {accept: "text/event-stream", status: 200, answer: `{"a":1}`, wantType: "text/event-stream", want: "event: message\ndata: {\"a\":1}\n\n"},
		"an error status is always JSON":   {accept: "text/event-stream", status: 404, answer: `{"e":1}`, wantType: "application/json", want: `{"e":1}`},
		"line breaks do not end the event": {accept: "text/event-stream", status: 200, answer: "{\r\n\"a\":\n1}", wantType: "text/event-stream", want: "event: message\ndata: {  \"a\": 1}\n\n"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := httptest.NewRecorder()
			r := responseTo(w, request(tc.accept))
			for _, e := range tc.events {
				if taken := r.Event([]byte(e)); taken == tc.wantRejected {
					t.Errorf("event taken: %v", taken)
				}
			}
			r.Answer(tc.status, []byte(tc.answer))
			if got := w.Body.String(); got != tc.want || w.Header().Get("Content-Type") != tc.wantType {
				t.Errorf("%s %q, want %s %q", w.Header().Get("Content-Type"), got, tc.wantType, tc.want)
			}
			if r.Event([]byte(`{}`)) {
				t.Error("an event was taken after the answer")
			}
		})
	}
}

func TestWithhold(t *testing.T) {
	for accept, want := range map[string]int{both: http.StatusOK, "application/json": http.StatusAccepted} {
		w := httptest.NewRecorder()
		responseTo(w, request(accept)).Withhold()
		if w.Code != want || w.Body.Len() > 0 {
			t.Errorf("%s: %d %q, want %d and nothing", accept, w.Code, w.Body, want)
		}
	}
}

// stuck is a client that reads nothing until it is released.
type stuck struct {
	*httptest.ResponseRecorder
	release chan struct{}
}

func (s *stuck) Write(p []byte) (int, error) {
	<-s.release
	return s.ResponseRecorder.Write(p)
}

// A client that does not read costs a bounded queue and loses what is over it, but never its answer.
func TestASlowClient(t *testing.T) {
	w := &stuck{httptest.NewRecorder(), make(chan struct{})}
	r := responseTo(w, request(both))
	taken := 0
	for range 3 * stream.MaxQueued {
		if r.Event([]byte(`{"p":1}`)) {
			taken++
		}
	}
	if taken < stream.MaxQueued || taken >= 3*stream.MaxQueued {
		t.Errorf("%d events were taken, want about %d", taken, stream.MaxQueued)
	}
	close(w.release)
	r.Answer(200, []byte(`{"a":1}`))
	if got := w.Body.String(); strings.Count(got, "event: ") != taken+1 || !strings.HasSuffix(got, "data: {\"a\":1}\n\n") {
		t.Errorf("%d events, the last %q", strings.Count(got, "event: "), got[max(0, len(got)-40):])
	}
}
