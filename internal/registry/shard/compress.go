// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"toolgate.dev/toolgate/internal/registry"
)

// Compress gives the text in gzip (RFC 1952), without a time or a name in its header: equal text gives equal bytes, as long as
// the compressor is the same.
func Compress(text []byte) ([]byte, error) {
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	_, err := w.Write(text)
	if err := errors.Join(err, w.Close()); err != nil {
		return nil, fmt.Errorf("compressing: %w", err)
	}
	return buf.Bytes(), nil
}

// Expand gives the text that was compressed, which must be one member of at most limit bytes and nothing after it.
func Expand(data []byte, limit int64) ([]byte, error) {
	in := bytes.NewReader(data)
	r, err := gzip.NewReader(in)
	if err != nil {
		return nil, fmt.Errorf("not gzip: %w", err)
	}
	r.Multistream(false)
	text, err := io.ReadAll(io.LimitReader(r, limit+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("not gzip: %w", err)
	case int64(len(text)) > limit:
		return nil, fmt.Errorf("more than %d bytes when expanded", limit)
	case in.Len() > 0:
		return nil, fmt.Errorf("%d bytes after the end of what was compressed", in.Len())
	}
	return text, nil
}

// Same says whether two compressed texts are one text. Another release may compress it to other bytes, and that alone must not
// write anything anew.
func Same(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	left, err := Expand(a, plainBytes)
	if err != nil {
		return false
	}
	right, err := Expand(b, plainBytes)
	return err == nil && registry.Digest(left) == registry.Digest(right)
}
