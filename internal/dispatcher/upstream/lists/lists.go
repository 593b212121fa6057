// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lists reads the lists of a server page by page: its tools as a catalogue, and how many resources and prompts there
// are. It bounds how much a server may say and for how long.
//
// It needs no more of a connection than its calls, and so does not import link.
package lists

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"toolgate.dev/toolgate/internal/catalog"
	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/mcp"
	"toolgate.dev/toolgate/internal/registry"
)

// The bounds of one list. A server that breaks them is broken: the longest list of the field has 118 tools and 160 kB. The
// manager reads it from every pod and keeps it. A page has a bound of its own beside Options.MaxMessageBytes, which people may raise
// for the sake of results.
const (
	maxPages     = 1000
	maxItems     = 10_000
	maxPageBytes = jsonrpc.DefaultMaxBytes
	maxListBytes = 16 << 20
)

var errListTimeout = errors.New("the server did not answer in time")

// lister reads a list page by page.
type lister struct {
	conn    upstream.Conn
	method  string
	timeout time.Duration // of one page
	// page takes one result and returns its number of items and the cursor of the next page, "" after the last.
	page func(result []byte) (items int, cursor string, err error)
}

// read reads all pages. Every error but the caller's own is an *upstream.Error.
func (l *lister) read(ctx context.Context) error {
	params := []byte(nil)
	seen := map[string]bool{}
	items, size := 0, 0
	for range maxPages {
		result, err := l.fetch(ctx, params)
		if err != nil {
			return err
		}
		if len(result) > maxPageBytes {
			return l.broken(nil, "A page of the server's %s has %d bytes; at most %d are read. Let the server list less at a time, or offer fewer tools.",
				l.method, len(result), maxPageBytes)
		}
		n, cursor, err := l.page(result)
		if err != nil {
			return l.broken(err, "A page of the server's %s is not as MCP has it.", l.method)
		}
		items, size = items+n, size+len(result)
		switch {
		case items > maxItems:
			return l.broken(nil, "The server's %s has more than %d items.", l.method, maxItems)
		case size > maxListBytes:
			return l.broken(nil, "The server's %s has more than %d bytes.", l.method, maxListBytes)
		case cursor == "":
			return nil
		case seen[cursor]:
			return l.broken(nil, "The server's %s gave the same cursor twice, so that its pages never end.", l.method)
		}
		seen[cursor] = true
		params = append(jsonrpc.AppendString([]byte(`{"cursor":`), cursor), '}')
	}
	return l.broken(nil, "The server's %s has more than %d pages.", l.method, maxPages)
}

func (l *lister) broken(cause error, format string, args ...any) *upstream.Error {
	return upstream.Fail(registry.FailCatalogue, cause, format, args...)
}

func (l *lister) fetch(ctx context.Context, params []byte) ([]byte, error) {
	limited, cancel := context.WithTimeoutCause(ctx, l.timeout, errListTimeout)
	defer cancel()
	reply, err := l.conn.Call(limited, upstream.Call{Method: l.method, Params: params})
	switch {
	case err == nil && reply.Error == nil:
		return reply.Result, nil
	case err == nil:
		return nil, upstream.Fail(registry.FailCatalogue, reply.Error, "The server refused %s with the JSON-RPC error %d.", l.method, reply.Error.Code)
	case errors.Is(err, errListTimeout):
		return nil, upstream.Fail(registry.FailTimeout, err, "The server did not answer %s within %s.", l.method, l.timeout)
	case errors.Is(err, upstream.ErrTooLarge):
		return nil, l.broken(err, "A page of the server's %s is larger than limits.maxResponseBytes allows an answer to be; raise that.", l.method)
	}
	return nil, err
}

// Tools reads the whole tools/list. timeout bounds one page. Every error but the caller's own is an *upstream.Error.
func Tools(ctx context.Context, c upstream.Conn, timeout time.Duration) (*upstream.Catalogue, error) {
	cat := &upstream.Catalogue{Resources: -1, Prompts: -1}
	list := &lister{conn: c, method: mcp.MethodListTools, timeout: timeout, page: func(result []byte) (int, string, error) {
		defs, cursor, err := catalog.ParseTools(result)
		cat.Tools = append(cat.Tools, parseTools(defs)...)
		if ttl, ok := ttlOf(result); ok && (cat.TTL == 0 || ttl < cat.TTL) {
			cat.TTL = ttl
		}
		return len(defs), cursor, err
	}}
	if err := list.read(ctx); err != nil {
		var refused *jsonrpc.Error
		if !errors.As(err, &refused) || declares(c.Info(), "tools") {
			return nil, err
		}
		cat.Tools = nil
	}
	tools := make([]catalog.Tool, len(cat.Tools))
	for i, t := range cat.Tools {
		tools[i] = t.Tool
	}
	cat.Digest = catalog.CatalogueDigest(tools)
	return cat, nil
}

// together is how many definitions are read one after the other: a thousand take as long as all else of a start, so that
// they are shared out between the processors.
const together = 64

func parseTools(defs [][]byte) []upstream.CatalogueTool {
	tools := make([]upstream.CatalogueTool, len(defs))
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), (len(defs)+together-1)/together) {
		group.Go(func() {
			for {
				from := int(next.Add(together)) - together
				if from >= len(defs) {
					return
				}
				for i := from; i < min(from+together, len(defs)); i++ {
					tools[i].Tool, tools[i].Err = catalog.ParseTool(defs[i])
				}
			}
		})
	}
	group.Wait()
	return tools
}

// ttlOf is how long a list result may be believed (2026-07-28, Caching: ttlMs, in milliseconds), within bounds. What is no
// number counts as not said.
func ttlOf(result []byte) (time.Duration, bool) {
	raw, present := jsonrpc.Member(result, "ttlMs")
	ms, err := strconv.ParseFloat(string(bytes.TrimSpace(raw)), 64)
	if !present || err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, false
	}
	const most = 24 * time.Hour // beyond it a time means nothing here, and a Duration would overflow
	return min(max(time.Duration(min(ms, float64(most.Milliseconds())))*time.Millisecond, upstream.LeastTTL), most), true
}

// Count returns the lengths of the server's resources/list and prompts/list. A length is -1 where the server does not
// declare the capability, or cannot list it whole; the error, which joins both, then says why. timeout bounds one page.
func Count(ctx context.Context, c upstream.Conn, timeout time.Duration) (resources, prompts int, err error) {
	var errs [2]error
	resources, errs[0] = countOne(ctx, c, "resources", timeout)
	prompts, errs[1] = countOne(ctx, c, "prompts", timeout)
	return resources, prompts, errors.Join(errs[:]...)
}

func countOne(ctx context.Context, c upstream.Conn, kind string, timeout time.Duration) (int, error) {
	if !declares(c.Info(), kind) {
		return -1, nil
	}
	total := 0
	list := &lister{conn: c, method: kind + "/list", timeout: timeout, page: func(result []byte) (int, string, error) {
		array, _ := jsonrpc.Member(result, kind)
		if !jsonrpc.IsArray(array) {
			return 0, "", fmt.Errorf("%s is no array", kind)
		}
		n := 0
		for range jsonrpc.Elements(array) {
			n++
		}
		total += n
		raw, _ := jsonrpc.Member(result, "nextCursor")
		cursor, _ := jsonrpc.String(raw)
		return n, cursor, nil
	}}
	if err := list.read(ctx); err != nil {
		return -1, err
	}
	return total, nil
}

func declares(info upstream.Info, capability string) bool {
	raw, ok := jsonrpc.Member(info.Capabilities, capability)
	return ok && !jsonrpc.IsNull(raw)
}
