// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plain

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// write writes a request as Request.Write does, which has to be ready for anything and takes a dozen objects for that. What is
// not ordinary is left to it.
func write(out *bufio.Writer, req *http.Request) error {
	target := req.URL.RequestURI()
	if !ordinary(req, target) {
		return req.Write(out)
	}
	for _, part := range []string{req.Method, " ", target, " HTTP/1.1\r\nHost: ", req.Host, "\r\n"} {
		_, _ = out.WriteString(part) // a bufio.Writer keeps its first error
	}
	if req.ContentLength > 0 || req.Method == http.MethodPost {
		_, _ = out.WriteString("Content-Length: ")
		_, _ = out.Write(strconv.AppendInt(out.AvailableBuffer(), req.ContentLength, 10))
		_, _ = out.WriteString("\r\n")
	}
	if err := req.Header.Write(out); err != nil {
		return err
	}
	if _, err := out.WriteString("\r\n"); err != nil || req.Body == nil {
		return err
	}
	n, err := io.Copy(out, req.Body)
	if err == nil && n != req.ContentLength {
		err = fmt.Errorf("the body of the request has %d bytes, not the %d that it was said to have", n, req.ContentLength)
	}
	return err
}

// ordinary says whether nothing of a request needs more than to be written down.
func ordinary(req *http.Request, target string) bool {
	switch req.Method {
	case http.MethodPost, http.MethodGet, http.MethodDelete:
	default:
		return false
	}
	if req.Close || req.Trailer != nil || len(req.TransferEncoding) > 0 || req.ContentLength < 0 || req.ContentLength > 0 && req.Body == nil ||
		req.Host == "" || req.URL.Opaque != "" {
		return false
	}
	for _, name := range []string{"Host", "Content-Length", "Transfer-Encoding", "Trailer"} {
		if _, there := req.Header[name]; there {
			return false
		}
	}
	_, named := req.Header["User-Agent"]
	return named && strings.Trim(req.Host, hostCharacters) == "" && strings.IndexFunc(target, func(r rune) bool { return r <= ' ' || r > '~' }) < 0
}

// hostCharacters are those of names, of addresses and of ports; others have several spellings.
const hostCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._:[]"
