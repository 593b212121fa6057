//go:build e2e

// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
)

// answer is one JSON-RPC answer, as a client sees it.
type answer struct {
	Result *struct {
		Content []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"content"`
		IsError bool                       `json:"isError"`
		Meta    map[string]json.RawMessage `json:"_meta"`
	} `json:"result"`
	Error *struct {
		Code    int64           `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
}

// refusal is the machine-readable reason of a refused call, empty where it passed.
func (a answer) refusal() string {
	raw := json.RawMessage(nil)
	switch {
	case a.Error != nil:
		raw = a.Error.Data
	case a.Result != nil:
		raw = a.Result.Meta["toolgate.dev/refusal"]
	}
	var details struct{ Kind, Reason string }
	if json.Unmarshal(raw, &details) != nil {
		return ""
	}
	return details.Reason
}

// ok says that the server itself answered, and without an error.
func (a answer) ok() bool { return a.Error == nil && a.Result != nil && !a.Result.IsError }

// endpoint is a server's MCP endpoint through its Service, by address: specs run in the node's network, not in its DNS. It is where
// the Service leads somewhere: a node learns of a pod that is ready a moment after the manager does.
func endpoint(ctx context.Context, server *mcpv1alpha1.MCPServer) string {
	GinkgoHelper()
	var service corev1.Service
	Expect(kube.Get(ctx, client.ObjectKeyFromObject(server), &service)).To(Succeed())
	address := net.JoinHostPort(service.Spec.ClusterIP, fmt.Sprint(service.Spec.Ports[0].Port))
	Eventually(func(g Gomega) {
		var dialer net.Dialer
		connection, err := dialer.DialContext(ctx, "tcp", address)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(connection.Close()).To(Succeed())
	}).WithContext(ctx).Should(Succeed())
	return "http://" + address + "/mcp"
}

// podEndpoint is the endpoint of one pod.
func podEndpoint(pod corev1.Pod) string {
	return fmt.Sprintf("http://%s/mcp", net.JoinHostPort(pod.Status.PodIP, "7310"))
}

// fresh opens a connection for each request, so that the Service chooses a pod each time.
var fresh = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 60 * time.Second}

// call sends one tools/call without a session.
func call(ctx context.Context, url, tool, arguments string) (answer, error) {
	_, a, err := callIn(ctx, "", url, tool, arguments)
	return a, err
}

// callIn sends one tools/call within a session, and gives the HTTP status too.
func callIn(ctx context.Context, session, url, tool, arguments string) (int, answer, error) {
	response, err := post(ctx, session, url, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, arguments))
	if err != nil {
		return 0, answer{}, err
	}
	defer response.Body.Close() //nolint:errcheck // what matters was read
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, answer{}, err
	}
	a, err := decode(data)
	return response.StatusCode, a, err
}

// begin opens a session and gives its id.
func begin(ctx context.Context, url string) string {
	response, err := post(ctx, "", url, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"e2e","version":"1"}}}`)
	Expect(err).NotTo(HaveOccurred())
	defer response.Body.Close() //nolint:errcheck // what matters was read
	id := response.Header.Get("Mcp-Session-Id")
	Expect(id).NotTo(BeEmpty(), "HTTP status %d", response.StatusCode)
	return id
}

func post(ctx context.Context, session, url, body string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	request.Header.Set("MCP-Protocol-Version", "2025-11-25")
	if session != "" {
		request.Header.Set("Mcp-Session-Id", session)
	}
	return fresh.Do(request)
}

// decode reads a JSON answer, or the last message of an event stream.
func decode(data []byte) (answer, error) {
	var a answer
	for line := range bytes.Lines(data) {
		if rest, found := bytes.CutPrefix(line, []byte("data:")); found {
			data = rest
		}
	}
	if err := json.Unmarshal(data, &a); err != nil {
		return a, fmt.Errorf("answer %q: %w", data, err)
	}
	return a, nil
}
