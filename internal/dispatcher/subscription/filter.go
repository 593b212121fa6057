// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package subscription keeps those who listen for changes in revision 2026-07-28 (subscriptions/listen): what each wants to
// hear of, and which message it gets.
//
// It opens no connection and writes no stream: that is the front's. What may be listened to is for the pipeline to decide.
// It never imports Kubernetes, the API or the launcher.
package subscription

import (
	"fmt"
	"slices"

	"toolgate.dev/toolgate/internal/dispatcher/policy"
	"toolgate.dev/toolgate/internal/jsonrpc"
)

// maxResources bounds the resources that one subscription names.
const maxResources = 256

// Filter is what a client wants to hear of.
type Filter struct {
	Tools, Prompts, Resources bool
	// URIs are the resources whose updates are wanted.
	URIs []string
}

// ParseFilter reads the notifications of a request. Members that nobody here knows are left out of what is agreed.
func ParseFilter(raw []byte) (Filter, *policy.Refusal) {
	var f Filter
	if !jsonrpc.IsObject(raw) {
		return f, invalid("/notifications", "subscriptions/listen needs notifications, an object.")
	}
	for _, member := range []struct {
		key  string
		into *bool
	}{{"toolsListChanged", &f.Tools}, {"promptsListChanged", &f.Prompts}, {"resourcesListChanged", &f.Resources}} {
		value, ok := jsonrpc.Member(raw, member.key)
		wanted, isBool := jsonrpc.Bool(value)
		if ok && !isBool {
			return f, invalid("/notifications/"+member.key, member.key+" must be true or false.")
		}
		*member.into = wanted
	}
	list, ok := jsonrpc.Member(raw, "resourceSubscriptions")
	if ok && !jsonrpc.IsArray(list) {
		return f, invalid("/notifications/resourceSubscriptions", "resourceSubscriptions must be an array of strings.")
	}
	for item := range jsonrpc.Elements(list) {
		uri, isString := jsonrpc.String(item)
		if !isString || uri == "" {
			return f, invalid("/notifications/resourceSubscriptions", "resourceSubscriptions must be an array of strings that are not empty.")
		}
		if !slices.Contains(f.URIs, uri) {
			f.URIs = append(f.URIs, uri)
		}
		if len(f.URIs) > maxResources {
			return f, invalid("/notifications/resourceSubscriptions", fmt.Sprintf("One subscription names at most %d resources.", maxResources))
		}
	}
	return f, nil
}

func invalid(path, message string) *policy.Refusal {
	return &policy.Refusal{Kind: policy.InvalidParams, Stage: policy.StageMethod, Reason: "InvalidParams", Path: path, Message: message}
}

// Within leaves what capabilities offer, a raw JSON object as a client is told them.
func (f Filter) Within(capabilities []byte) Filter {
	offers := func(capability, flag string) bool {
		raw, _ := jsonrpc.Member(capabilities, capability)
		value, _ := jsonrpc.Member(raw, flag)
		offered, _ := jsonrpc.Bool(value)
		return offered
	}
	f.Tools = f.Tools && offers("tools", "listChanged")
	f.Prompts = f.Prompts && offers("prompts", "listChanged")
	f.Resources = f.Resources && offers("resources", "listChanged")
	if !offers("resources", "subscribe") {
		f.URIs = nil
	}
	return f
}

// append writes the filter as JSON.
func (f Filter) append(dst []byte) []byte {
	dst = append(dst, '{')
	start := len(dst)
	for _, member := range []struct {
		key    string
		wanted bool
	}{{"toolsListChanged", f.Tools}, {"promptsListChanged", f.Prompts}, {"resourcesListChanged", f.Resources}} {
		if member.wanted {
			dst = append(dst, `"`+member.key+`":true,`...)
		}
	}
	if len(f.URIs) > 0 {
		dst = append(dst, `"resourceSubscriptions":[`...)
		for _, uri := range f.URIs {
			dst = append(jsonrpc.AppendString(dst, uri), ',')
		}
		dst = append(dst[:len(dst)-1], "],"...)
	}
	if len(dst) > start {
		dst = dst[:len(dst)-1]
	}
	return append(dst, '}')
}
