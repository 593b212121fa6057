// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/kubernetes/scheme"
)

// Sent is a request that changes something and when it was there as a whole.
type Sent struct {
	Call
	At time.Time
}

// Renewal is a write of a Lease that the API server has taken.
type Renewal struct {
	// At is when the request was there.
	At time.Time
	// Holder is who leads by it; empty for a release.
	Holder string
}

// Sent are all requests so far that change something, events included and Leases not.
func (p *Proxy) Sent() []Sent {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.sent)
}

// Renewals are what the manager has made of Leases so far.
func (p *Proxy) Renewals() []Renewal {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.leases)
}

func (p *Proxy) renewed(at time.Time, body []byte) {
	// In JSON or protobuf. A Lease that can't be read has no holder, and a test that wants one fails.
	var lease coordinationv1.Lease
	_, _, _ = scheme.Codecs.UniversalDeserializer().Decode(body, nil, &lease)
	holder := ""
	if lease.Spec.HolderIdentity != nil {
		holder = *lease.Spec.HolderIdentity
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leases = append(p.leases, Renewal{At: at, Holder: holder})
}

// whole reads the body of a request that changes something: one that is cut off before its end changes nothing.
func whole(req *http.Request, call Call) ([]byte, bool) {
	if !call.Mutating() {
		return nil, true
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, false
	}
	req.Body = http.NoBody
	if len(body) > 0 {
		req.Body = io.NopCloser(bytes.NewReader(body))
	}
	req.ContentLength = int64(len(body))
	return body, true
}
