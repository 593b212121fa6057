// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package prober

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"toolgate.dev/toolgate/controllers/polled"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/registry/statekey"
)

// bufferSize is for each way of a connection. Large answers are read past it.
const bufferSize = 1 << 10

// PodURL is the address of a pod's state on the dispatcher's admin port.
func PodURL(port int) func(polled.Target) string {
	return func(t polled.Target) string {
		return "http://" + net.JoinHostPort(t.IP, strconv.Itoa(port)) + "/state"
	}
}

// NewClient is the HTTP client for pods: connections are kept while something is awaited, with small buffers; proxies of the environment and redirects are not followed.
func NewClient() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			DialContext:           (&net.Dialer{Timeout: Timeout, KeepAlive: Interval}).DialContext,
			MaxIdleConnsPerHost:   2,
			ReadBufferSize:        bufferSize,
			WriteBufferSize:       bufferSize,
			IdleConnTimeout:       3 * Interval,
			ResponseHeaderTimeout: Wait + Timeout,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// get asks once.
func (p *Prober) get(ctx context.Context, t polled.Target, etag string, wait time.Duration) (reply, error) {
	if t.IP == "" {
		return reply{}, errors.New("the pod has no address yet")
	}
	address := p.opts.URL(t)
	if wait > 0 {
		address += "?wait=" + strconv.Itoa(int(wait/time.Second))
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return reply{}, fmt.Errorf("asking the dispatcher: %w", err)
	}
	if etag != "" {
		req.Header.Set("If-None-Match", etag)
	}
	// A connection that waits a quarter of a minute for the next question holds some twenty kilobytes, of each of thousands of pods.
	req.Close = !t.Awaited
	nonce := prove(req, t.Key)
	resp, err := p.opts.Client.Do(req)
	if err != nil {
		return reply{}, fmt.Errorf("asking the dispatcher: %w", reason(ctx, err))
	}
	defer func() { _ = resp.Body.Close() }()
	switch resp.StatusCode {
	case http.StatusNotModified:
		return reply{etag: etag}, proven(resp, t, statekey.Answer{Nonce: nonce, ETag: etag})
	case http.StatusOK:
	default:
		return reply{}, fmt.Errorf("asking the dispatcher: HTTP status %s", resp.Status)
	}
	body, done, err := p.read(ctx, resp.Body)
	defer done()
	if err != nil {
		return reply{}, fmt.Errorf("reading the dispatcher's state: %w", reason(ctx, err))
	}
	newTag := resp.Header.Get("ETag")
	if err := proven(resp, t, statekey.Answer{Nonce: nonce, ETag: newTag, Body: body}); err != nil {
		return reply{}, err
	}
	state, err := parse(body, t)
	return reply{state: state, etag: newTag, size: len(body)}, err
}

// errForged says that an answer is not from whom it was asked of.
var errForged = errors.New("somebody else than this pod's dispatcher answers at its admin port, so nothing of it is believed")

// prove puts into a request what lets the dispatcher believe that it is the manager's, and gives the nonce of it.
func prove(req *http.Request, key statekey.Key) string {
	if !key.Set() {
		return ""
	}
	nonce := statekey.NewNonce()
	req.Header.Set(statekey.HeaderNonce, nonce)
	req.Header.Set(statekey.HeaderProof, key.Proof(nonce))
	return nonce
}

// proven says what is wrong with an answer's code. A pod that predates keys has none.
func proven(resp *http.Response, t polled.Target, a statekey.Answer) error {
	if !t.Key.Set() {
		return nil
	}
	a.PodUID, a.Status = t.UID, resp.StatusCode
	switch code := resp.Header.Get(statekey.HeaderCode); {
	case code == "":
		return fmt.Errorf("%w: the answer does not prove whose it is", errForged)
	case !statekey.Equal(code, t.Key.Code(a)):
		return fmt.Errorf("%w: the answer's code does not fit the server's key", errForged)
	}
	return nil
}

// parse reads an answer and makes sure that it is from whom it was asked of. Members that it does not know are skipped: a
// newer dispatcher may say more.
func parse(body []byte, t polled.Target) (*registry.State, error) {
	var state registry.State
	if err := json.Unmarshal(body, &state); err != nil {
		return nil, fmt.Errorf("reading the dispatcher's state: %w", err)
	}
	if state.PodUID != t.UID {
		return nil, fmt.Errorf("another pod (%s) answered at the address of this one", state.PodUID)
	}
	if state.Revision != t.Revision {
		return nil, fmt.Errorf("the dispatcher serves revision %q, its pod is labelled %q", state.Revision, t.Revision)
	}
	return &state, nil
}

// reason takes out of an error what changes from attempt to attempt (the local port), so that a failure that lasts is one
// failure.
func reason(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errors.New("no answer in time")
	}
	var outer *url.Error
	if errors.As(err, &outer) {
		err = outer.Err
	}
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err
	}
	return err
}
