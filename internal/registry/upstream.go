// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// In gives the way to the server of a pod whose own is u while a document is in force. A pod stays with the server of its revision, whose
// credentials it holds, also where the document names another one already; only who shares a connection is the document's to say.
func (u Upstream) In(doc Upstream) Upstream {
	u.Isolation = "" // the strict one
	if u.Transport == doc.Transport {
		u.Isolation = doc.Isolation
	}
	return u
}

// Text is the way to the server as one argument of a container's command, for ReadUpstream. Kubernetes replaces $(NAME) in arguments, so
// there is no $ in it.
func (u Upstream) Text() (string, error) {
	data, err := json.Marshal(u)
	if err != nil {
		return "", fmt.Errorf("encoding the way to the server: %w", err)
	}
	return strings.ReplaceAll(string(data), "$", `\u0024`), nil
}

// ReadUpstream reads Text with the strictness of Decode.
func ReadUpstream(text string) (*Upstream, error) {
	var u Upstream
	if err := Strict([]byte(text), &u, MaxBytes); err != nil {
		return nil, err
	}
	if err := errors.Join(u.faults()...); err != nil {
		return nil, err
	}
	return &u, nil
}
