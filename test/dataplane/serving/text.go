// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"bytes"
	"strings"
	"sync"
)

// Text is output that is read while it is written.
type Text struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write never fails.
func (x *Text) Write(p []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.buf.Write(p)
}

// String is all that has been written.
func (x *Text) String() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.buf.String()
}

// Last gives the last n lines.
func (x *Text) Last(n int) string {
	lines := strings.SplitAfter(x.String(), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "")
}
