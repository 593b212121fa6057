// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"encoding/json"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Call is a request to the API server, as its method and path say it.
type Call struct {
	// Verb is create, update, patch, delete, get, list or watch.
	Verb string
	// Resource is the plural name with its subresource, such as mcpservers/status.
	Resource  string
	Namespace string
	Name      string
	// initial says that a watch begins with what is there.
	initial bool
	// Occurrence counts the calls of this Key, from 1.
	Occurrence int
	// UID is that of the object which a deletion is about, where the request says it in JSON.
	UID types.UID
	// Denied says that the API server itself would not carry it out, so that it changed nothing.
	Denied bool
}

// Mutating says whether the call changes an object.
func (c Call) Mutating() bool {
	switch c.Verb {
	case "create", "update", "patch", "delete":
		return true
	default:
		return false
	}
}

// Key says what is called on what, without the namespace: the same in every run of a scenario.
func (c Call) Key() string { return c.Verb + " " + c.Resource + "/" + c.Name }

// aside says that a call is no state of anybody: the manager's own lease, and events.
func (c Call) aside() bool {
	return c.Resource == "leases" || c.Resource == "events"
}

// about reads the UID that a deletion is held to (metav1.Preconditions).
func about(c Call, body []byte) types.UID {
	var options metav1.DeleteOptions
	if c.Verb != "delete" || json.Unmarshal(body, &options) != nil || options.Preconditions == nil || options.Preconditions.UID == nil {
		return ""
	}
	return *options.Preconditions.UID
}

// parse reads what a request asks for. Paths that name no resource give the zero Call.
func parse(req *http.Request) Call {
	parts := strings.Split(strings.Trim(req.URL.Path, "/"), "/")
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		parts = parts[3:]
	default:
		return Call{}
	}
	var c Call
	if len(parts) >= 3 && parts[0] == "namespaces" {
		c.Namespace, parts = parts[1], parts[2:]
	}
	c.Resource = parts[0]
	if len(parts) > 1 {
		c.Name = parts[1]
	}
	if len(parts) > 2 {
		c.Resource += "/" + strings.Join(parts[2:], "/")
	}
	c.Verb, c.initial = verb(req, c.Name), req.URL.Query().Get("sendInitialEvents") == "true"
	return c
}

func verb(req *http.Request, name string) string {
	switch req.Method {
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodPatch:
		return "patch"
	case http.MethodDelete:
		return "delete"
	}
	switch {
	case req.URL.Query().Get("watch") == "true" || req.URL.Query().Get("watch") == "1":
		return "watch"
	case name == "":
		return "list"
	default:
		return "get"
	}
}
