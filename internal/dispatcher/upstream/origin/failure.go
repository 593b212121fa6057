// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package origin

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/registry"
)

func unauthorized(err error, h registry.HeaderFile) *upstream.Error {
	return upstream.Fail(registry.FailUnauthorized, err, "The value of the header %s cannot be read from its file: %s.", h.Name, err)
}

// Reason takes the URL off an error of the HTTP client: it may hold secrets.
func Reason(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// Broken turns an error of a request, or of reading its answer, into what it means.
func (o *Origin) Broken(err error) *upstream.Error {
	var own *upstream.Error
	switch err = Reason(err); {
	case errors.As(err, &own):
		return own
	case !o.Remote && upstream.NotListening(err):
		return upstream.Fail(registry.FailStart, err, "Nothing answers at %s: %s. The server must listen there.", o.Host(), err)
	case o.Remote:
		return upstream.Fail(registry.FailUnreachable, err, "The server at %s cannot be reached: %s.", o.Host(), err)
	}
	return upstream.Fail(registry.FailExited, err, "The connection to the server at %s was lost: %s.", o.Host(), err)
}

// Refused says what an HTTP status means where it is no success and the body does not say more. What names what was looked
// for, such as "streamable HTTP endpoint".
func (o *Origin) Refused(status int, what string) *upstream.Error {
	text := StatusText(status)
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return upstream.Fail(registry.FailUnauthorized, nil, "The server answered %s: it does not accept the configured credentials.", text)
	case status >= 300 && status < 400:
		return upstream.Fail(registry.FailNotMCP, nil, "The server answered %s, which is not followed; set the URL to the address it leads to.", text)
	case status == http.StatusNotFound || status == http.StatusMethodNotAllowed:
		return upstream.Fail(registry.FailNotMCP, nil, "The server answered %s: there is no %s at this path.", text, what)
	case status < 300:
		return upstream.Fail(registry.FailNotMCP, nil, "The server answered a request with %s and no body.", text)
	case o.Remote && (status >= 500 || status == http.StatusTooManyRequests):
		return upstream.Fail(registry.FailUnreachable, nil, "The server at %s answered %s.", o.Host(), text)
	}
	return upstream.Fail(registry.FailNotMCP, nil, "The server answered %s.", text)
}

// StatusText is an HTTP status for people.
func StatusText(status int) string {
	return strings.TrimSpace(fmt.Sprintf("HTTP %d %s", status, http.StatusText(status)))
}

// HasType says whether a Content-Type is of a media type, whatever its case and parameters.
func HasType(label, want string) bool {
	label, _, _ = strings.Cut(label, ";")
	return strings.EqualFold(strings.TrimSpace(label), want)
}

// Discard reads what little is left of an answer, so that its TCP connection can be used again.
func Discard(resp *http.Response) {
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, MaxErrorBody))
	_ = resp.Body.Close()
}
