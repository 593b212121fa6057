// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package streamable

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/upstreamtest"
	"toolgate.dev/toolgate/internal/jsonrpc"
)

// sdkServer is a server of the Go SDK with a tool that uses what the protocol has.
func sdkServer() *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "sdk", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "plain"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil, nil
	})
	mcp.AddTool(server, &mcp.Tool{Name: "busy"}, func(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: 1})
		if err != nil {
			return nil, nil, err
		}
		answer, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "sure?"})
		if err != nil {
			return nil, nil, err
		}
		mcp.AddTool(server, &mcp.Tool{Name: "late"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{}, nil, nil
		})
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: answer.Action}}}, nil, nil
	})
	return server
}

func TestGoSDKServer(t *testing.T) {
	sdk := sdkServer()
	handler := newRecorder()
	handler.answer = func(context.Context, upstream.Event) upstream.Reply {
		return upstream.Reply{Result: []byte(`{"action":"decline"}`)}
	}
	conn := dialWith(t, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return sdk }, nil), handler,
		upstream.Hello{Capabilities: []byte(`{"elicitation":{"form":{}}}`)})
	if conn.Info().Era != upstream.Legacy {
		t.Errorf("info %+v", conn.Info())
	}
	if cat, err := conn.Catalogue(t.Context()); err != nil || len(cat.Tools) != 2 || cat.Tools[0].Err != nil {
		t.Errorf("catalogue %+v, %v", cat, err)
	}
	progress := 0
	reply, err := conn.Call(t.Context(), upstream.Call{Method: "tools/call", Params: []byte(`{"name":"busy","arguments":{}}`), Progress: func([]byte) { progress++ }})
	if err != nil || !bytes.Contains(reply.Result, []byte(`"text":"decline"`)) || progress != 1 {
		t.Errorf("got %s, %v, %d of progress", reply.Result, err, progress)
	}
	if e := <-handler.notices; e.Method != "notifications/tools/list_changed" {
		t.Errorf("event %+v", e)
	}
	if cat, err := conn.Catalogue(t.Context()); err != nil || len(cat.Tools) != 3 {
		t.Errorf("catalogue %+v, %v", cat, err)
	}
}

func TestGoSDKServerModern(t *testing.T) {
	sdk := sdkServer()
	conn := dialWith(t, modernOnly(sdk), newRecorder(), upstream.Hello{})
	if conn.Info().Era != upstream.Modern {
		t.Errorf("info %+v", conn.Info())
	}
	if cat, err := conn.Catalogue(t.Context()); err != nil || len(cat.Tools) != 2 {
		t.Errorf("catalogue %+v, %v", cat, err)
	}
	if got, err := upstreamtest.CallTool(t, conn, `{"name":"plain","arguments":{}}`); err != nil || !bytes.Contains([]byte(got), []byte("done")) {
		t.Errorf("got %s, %v", got, err)
	}
}

// modernOnly makes a server of both eras refuse the older one.
func modernOnly(sdk *mcp.Server) http.Handler {
	stateless := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return sdk }, &mcp.StreamableHTTPOptions{Stateless: true})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, m := parsed(r)
		if m.Method == "initialize" {
			unknown(w, m)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		stateless.ServeHTTP(w, r)
	})
}

// parsed reads a request's message; the zero value where there is none.
func parsed(r *http.Request) ([]byte, jsonrpc.Message) {
	body, _ := io.ReadAll(r.Body)
	m, _ := jsonrpc.Parse(body, jsonrpc.Limits{})
	return body, m
}

// unknown answers as a modern server does that does not know a method.
func unknown(w http.ResponseWriter, m jsonrpc.Message) {
	w.WriteHeader(http.StatusNotFound)
	_, _ = w.Write(jsonrpc.AppendError(nil, m.ID, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "Method not found"}))
}

func dialWith(t *testing.T, handler http.Handler, upstreamHandler upstream.Handler, hello upstream.Hello) upstream.Conn {
	t.Helper()
	conn, err := newDialer(t, Options{URL: serve(t, handler).URL + "/mcp"}).Dial(t.Context(), hello, upstreamHandler)
	if err != nil {
		t.Fatalf("Dial: %v", err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}
