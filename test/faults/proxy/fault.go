// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"encoding/json"
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Fault is what becomes of one call.
type Fault string

// The faults. The zero value is none.
const (
	// None passes the call on.
	None Fault = ""
	// Refused answers 500 without asking the API server.
	Refused Fault = "error before commit"
	// ReplyLost lets the API server commit, and cuts the connection instead of answering.
	ReplyLost Fault = "committed, reply lost"
	// Conflict answers 409 without asking the API server.
	Conflict Fault = "conflict"
	// Busy answers 429 and Unavailable 503, without asking the API server.
	Busy        Fault = "429"
	Unavailable Fault = "503"
	// KilledBefore and KilledAfter cut the whole proxy off, before or after the API server has committed: who speaks through
	// it is dead from then on.
	KilledBefore Fault = "killed before commit"
	KilledAfter  Fault = "killed after commit"
)

// Plan says which calls fail. It is asked for each call that changes something, Lease and events aside, from many goroutines.
type Plan interface {
	Fault(Call) Fault
}

// answer writes a Status as the API server does.
func answer(w http.ResponseWriter, code int, reason metav1.StatusReason, call Call) {
	status := metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Code: int32(code), Reason: reason,
		Message: fmt.Sprintf("fault injected into %s", call.Key()),
		Details: &metav1.StatusDetails{Name: call.Name, Kind: call.Resource},
	}
	body, _ := json.Marshal(status)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(body)
}

// inject answers a call in place of the API server; false for faults that need its answer first.
func inject(w http.ResponseWriter, fault Fault, call Call) bool {
	switch fault {
	case Refused:
		answer(w, http.StatusInternalServerError, metav1.StatusReasonInternalError, call)
	case Conflict:
		answer(w, http.StatusConflict, metav1.StatusReasonConflict, call)
	case Busy:
		// Clients wait as long as they are told, and try again themselves.
		w.Header().Set("Retry-After", "0")
		answer(w, http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, call)
	case Unavailable:
		answer(w, http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, call)
	case None, ReplyLost, KilledBefore, KilledAfter:
		return false
	}
	return true
}
