// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package origin

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/registry"
)

// The bounds of a decoder. A body is read as it comes and no further than its reader allows, so that what a few bytes could
// grow to is bounded there; these bound the memory of the decoder itself.
const (
	maxEncodings = 2       // one over the other
	maxWindow    = 8 << 20 // bytes (RFC 9659 asks no more of zstd in HTTP)
)

// acceptEncoding is what the server may answer in.
func (o *Origin) acceptEncoding() []string {
	if o.Remote {
		return encodings
	}
	return identity
}

// Headers are shared by all requests, which nobody changes.
var encodings, identity = []string{"gzip, br, zstd"}, []string{"identity"}

// decode puts a decoded body in the place of an encoded one (RFC 9110, section 8.4), whatever was asked for: some servers
// compress all the same. Nothing is read yet.
func decode(resp *http.Response) error {
	lines := resp.Header.Values("Content-Encoding")
	if len(lines) == 0 {
		return nil
	}
	encodings := strings.Split(strings.Join(lines, ","), ",")
	applied := 0
	for i := len(encodings) - 1; i >= 0; i-- { // they are named in the order in which they were applied
		name := strings.ToLower(strings.TrimSpace(encodings[i]))
		if name == "" || name == "identity" {
			continue
		}
		open, known := decoders[strings.TrimPrefix(name, "x-")]
		if applied++; !known || applied > maxEncodings {
			return upstream.Fail(registry.FailNotMCP, nil, "The server's answer has a Content-Encoding that is not known here; gzip, br, zstd and deflate are.")
		}
		resp.Body = &decoded{source: resp.Body, open: open}
	}
	if applied > 0 {
		resp.Header.Del("Content-Encoding")
		resp.Header.Del("Content-Length")
		resp.ContentLength, resp.Uncompressed = -1, true
	}
	return nil
}

// decoders open a decoder by its name.
var decoders = map[string]func(io.Reader) (io.ReadCloser, error){
	"gzip": func(r io.Reader) (io.ReadCloser, error) { return gzip.NewReader(r) },
	"br":   func(r io.Reader) (io.ReadCloser, error) { return io.NopCloser(brotli.NewReader(r)), nil },
	"zstd": func(r io.Reader) (io.ReadCloser, error) {
		d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, err
		}
		return d.IOReadCloser(), nil
	},
	"deflate": inflate,
}

// inflate reads the zlib format, as RFC 9110 has it, and the bare one that some servers send under the same name.
func inflate(r io.Reader) (io.ReadCloser, error) {
	buffered := bufio.NewReader(r)
	head, err := buffered.Peek(2)
	if err != nil {
		return nil, err
	}
	const methodDeflate = 8
	if head[0]&0x0f == methodDeflate && (uint(head[0])<<8|uint(head[1]))%31 == 0 {
		return zlib.NewReader(buffered)
	}
	return flate.NewReader(buffered), nil
}

// decoded is a body that is decoded as it is read. The decoder is opened at the first read: a stream has no bytes before its
// first event.
type decoded struct {
	source io.ReadCloser
	open   func(io.Reader) (io.ReadCloser, error)

	reader io.ReadCloser
	err    error
}

func (d *decoded) Read(p []byte) (int, error) {
	if d.reader == nil && d.err == nil {
		reader, err := d.open(d.source)
		if errors.Is(err, io.EOF) {
			return 0, io.EOF // no body at all
		}
		if d.err = wrap(err); err == nil {
			d.reader = reader
		}
	}
	if d.err != nil {
		return 0, d.err
	}
	n, err := d.reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = wrap(err)
	}
	return n, err
}

// wrap tells an encoding that is broken from a connection that is.
func wrap(err error) error {
	var network net.Error
	if err == nil || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &network) ||
		errors.Is(err, context.Canceled) || errors.Is(err, http.ErrBodyReadAfterClose) {
		return err
	}
	return upstream.Fail(registry.FailNotMCP, err, "The server's answer is not encoded as its Content-Encoding says: %s.", err)
}

func (d *decoded) Close() error {
	var err error
	if d.reader != nil {
		err = d.reader.Close()
	}
	return errors.Join(err, d.source.Close())
}
