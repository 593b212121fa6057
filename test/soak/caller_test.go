// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

var web = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2 * callers}, Timeout: settling}

// caller calls again and again. What fails because the server was hurt is answered all the same.
type caller struct {
	url, session string
	keepsSession bool
	answered     *atomic.Int64
	calls        int
}

func (c *caller) run(ctx context.Context) error {
	defer c.end()
	for ctx.Err() == nil {
		if c.keepsSession && (c.session == "" || c.calls%500 == 499) {
			c.end()
			if err := c.begin(); err != nil {
				return err
			}
			if c.session == "" {
				continue // the server was hurt while it started
			}
		}
		c.calls++
		status, body, _, err := c.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"work","arguments":{}}}`, c.calls))
		if err != nil {
			return err
		}
		var answer struct{ ID int }
		switch {
		case status == http.StatusNotFound:
			c.session = "" // its process was killed
			c.answered.Add(1)
		case status != http.StatusOK || json.Unmarshal(body, &answer) != nil || answer.ID != c.calls:
			return fmt.Errorf("call %d was answered by %d %s", c.calls, status, body)
		default:
			c.answered.Add(1)
		}
	}
	return nil
}

// begin begins a session, if the server lets it.
func (c *caller) begin() (err error) {
	const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"soak","version":"1"}}}`
	_, _, c.session, err = c.post(initialize)
	return err
}

func (c *caller) end() {
	if c.session == "" {
		return
	}
	request, err := http.NewRequest(http.MethodDelete, c.url, nil)
	if err != nil {
		return
	}
	request.Header.Set("Mcp-Session-Id", c.session)
	c.session = ""
	if resp, err := web.Do(request); err == nil {
		_ = resp.Body.Close() // nothing is in it
	}
}

func (c *caller) post(message string) (status int, body []byte, session string, err error) {
	request, err := http.NewRequest(http.MethodPost, c.url, bytes.NewReader([]byte(message)))
	if err != nil {
		return 0, nil, "", err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	if c.session != "" {
		request.Header.Set("Mcp-Session-Id", c.session)
	}
	begun := time.Now()
	resp, err := web.Do(request)
	if err != nil {
		return 0, nil, "", fmt.Errorf("after %s: %w", time.Since(begun), err)
	}
	defer resp.Body.Close() //nolint:errcheck // what matters was read
	body, err = io.ReadAll(resp.Body)
	return resp.StatusCode, body, resp.Header.Get("Mcp-Session-Id"), err
}
