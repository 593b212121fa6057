// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package leadership

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// ErrFenced is why a request was not sent: this process does not lead, or can't know that it still does.
var ErrFenced = errors.New("not sent: this manager does not lead")

// Fence lets requests that change something through only while a lease is held that was renewed within a limit. It begins
// closed. It is safe for concurrent use.
type Fence struct {
	limit time.Duration
	now   func() time.Time

	mu      sync.Mutex
	held    bool
	renewed time.Time
}

// NewFence makes a fence that closes when the last renewal is limit ago: the renew deadline, which is shorter than the lease.
func NewFence(limit time.Duration) *Fence {
	return &Fence{limit: limit, now: time.Now}
}

// renew opens the fence. The time is that at which the renewal was sent: for others, the lease runs from then at the earliest.
func (f *Fence) renew(sent time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held, f.renewed = true, sent
}

// close closes it until the next renewal, and says whether the lease was held until now, in time or not.
func (f *Fence) close() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	held := f.held
	f.held = false
	return held
}

// Check gives an ErrFenced unless the lease is held now.
func (f *Fence) Check() error {
	_, err := f.left()
	return err
}

// left is how long the fence stays open without another renewal.
func (f *Fence) left() (time.Duration, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.held {
		return 0, ErrFenced
	}
	ago := elapsed(f.renewed, f.now())
	if ago >= f.limit {
		return 0, fmt.Errorf("%w: its lease was last renewed %v ago, which is not within %v", ErrFenced, ago.Round(time.Millisecond), f.limit)
	}
	return f.limit - ago, nil
}

// elapsed is the longer of what two clocks say: the monotonic one stands still while a machine is suspended, the other one may
// be set back.
func elapsed(from, to time.Time) time.Duration {
	return max(to.Sub(from), to.Round(0).Sub(from.Round(0)))
}

// Transport puts the fence before a transport, for rest.Config.Wrap.
func (f *Fence) Transport(next http.RoundTripper) http.RoundTripper {
	return &transport{fence: f, next: next}
}

type transport struct {
	fence *Fence
	next  http.RoundTripper
}

// RoundTrip implements http.RoundTripper. The fence is asked again as the body goes onto the connection: a process may be
// paused in between. And a request is given up when the fence would close: one that waits at the API server, or before it, must
// not be carried out when somebody else leads. A leader renews so often that it has most of the limit for each.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if !changes(req) {
		return t.next.RoundTrip(req)
	}
	left, err := t.fence.left()
	if err != nil {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(req.Context(), left, ErrFenced)
	resp, err := t.next.RoundTrip(t.guard(req.Clone(ctx)))
	if err != nil {
		cancel()
		return nil, err
	}
	resp.Body = &answer{ReadCloser: resp.Body, cancel: cancel}
	return resp, nil
}

// WrappedRoundTripper implements net.RoundTripperWrapper, by which client-go finds what it cancels and closes.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }

var _ utilnet.RoundTripperWrapper = (*transport)(nil)

// guard puts the fence before the body of a request.
func (t *transport) guard(req *http.Request) *http.Request {
	if req.Body == nil || req.Body == http.NoBody {
		return req
	}
	req.Body = &body{ReadCloser: req.Body, fence: t.fence}
	if again := req.GetBody; again != nil {
		req.GetBody = func() (io.ReadCloser, error) {
			b, err := again()
			return &body{ReadCloser: b, fence: t.fence}, err
		}
	}
	return req
}

// answer is the body of a response, with what its request has held.
type answer struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (a *answer) Close() error {
	defer a.cancel()
	return a.ReadCloser.Close()
}

// body is a request's that ends with an error when the fence closes.
type body struct {
	io.ReadCloser
	fence *Fence
}

func (b *body) Read(p []byte) (int, error) {
	if err := b.fence.Check(); err != nil {
		return 0, err
	}
	return b.ReadCloser.Read(p)
}

// changes says whether a request changes something. Reviews ask who somebody is and what they may, by POST; a manager that
// does not lead asks them too, of those who read its metrics.
func changes(req *http.Request) bool {
	switch req.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return false
	default:
		return !strings.Contains(req.URL.Path, "/apis/authentication.k8s.io/") && !strings.Contains(req.URL.Path, "/apis/authorization.k8s.io/")
	}
}
