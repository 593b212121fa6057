// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package edge

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/policy"
)

// bodyTimeout bounds the reading of one request's body.
const bodyTimeout = 30 * time.Second

// BoundBodies gives every body bodyTimeout to arrive. ReadBody lifts the bound from a body that it has read, and from no other:
// the server reads what is left of a body before it sends the answer, and would wait for a slow client without end.
func BoundBodies(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body != nil && r.Body != http.NoBody {
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout)) // a recorder in a test has none
		}
		next.ServeHTTP(w, r)
	})
}

// BodyError is a refusal whose HTTP status is not that of its kind.
type BodyError struct {
	*policy.Refusal
	Status int
}

// ReadBody reads the body of a request that must be JSON, at most limit bytes of it.
func ReadBody(w http.ResponseWriter, r *http.Request, limit int) ([]byte, *BodyError) {
	if problem := checkMediaType(r); problem != nil {
		return nil, problem
	}
	if r.ContentLength > int64(limit) {
		return nil, tooLarge(limit)
	}
	body, err := read(w, r, limit)
	if err == nil {
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // a recorder in a test has none
		return body, nil
	}
	var over *http.MaxBytesError
	if errors.As(err, &over) {
		return nil, tooLarge(limit)
	}
	return nil, problem(http.StatusBadRequest, policy.ParseError, "BodyIncomplete", "The body could not be read to its end.")
}

// read reads to the end, in one piece of memory where the length is known. A body has never more bytes than its length says:
// the server's reader ends there.
func read(w http.ResponseWriter, r *http.Request, limit int) ([]byte, error) {
	if r.ContentLength < 0 {
		return io.ReadAll(http.MaxBytesReader(w, r.Body, int64(limit)))
	}
	body := make([]byte, r.ContentLength)
	_, err := io.ReadFull(r.Body, body)
	return body, err
}

func checkMediaType(r *http.Request) *BodyError {
	if encoding := Header(r.Header, "Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return problem(http.StatusUnsupportedMediaType, policy.InvalidRequest, "ContentEncoding",
			fmt.Sprintf("Content-Encoding %q is not read here. Send the body without encoding.", encoding))
	}
	given := Header(r.Header, "Content-Type")
	if given == "application/json" { // as nearly all write it
		return nil
	}
	mediaType, params, err := mime.ParseMediaType(given)
	charset, named := params["charset"]
	if err == nil && mediaType == "application/json" && (!named || strings.EqualFold(charset, "utf-8")) {
		return nil
	}
	return problem(http.StatusUnsupportedMediaType, policy.InvalidRequest, "ContentType",
		fmt.Sprintf("Content-Type %q is not read here. Send application/json in UTF-8.", given))
}

func tooLarge(limit int) *BodyError {
	return problem(http.StatusRequestEntityTooLarge, policy.InvalidRequest, "TooLarge",
		fmt.Sprintf("The body is over the limit of %d bytes (limits.maxRequestBytes).", limit))
}

func problem(status int, kind policy.Kind, reason, message string) *BodyError {
	return &BodyError{Status: status, Refusal: &policy.Refusal{Kind: kind, Stage: policy.StageParse, Reason: reason, Message: message}}
}
