// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/listing"
	"toolgate.dev/toolgate/internal/dispatcher/mirror"
	"toolgate.dev/toolgate/internal/dispatcher/pipeline"
	"toolgate.dev/toolgate/internal/dispatcher/policy"
	"toolgate.dev/toolgate/internal/dispatcher/requests"
	"toolgate.dev/toolgate/internal/dispatcher/session"
	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/mcp"
)

// listTTL is how long a client may keep a list: policy can change it at any moment, and not every client listens.
const listTTL = 30 * time.Second

// upstreamNone stands for answers that no connection carried.
const upstreamNone upstream.Era = ""

// modernMethods are the requests of revision 2026-07-28 that are served, beside subscriptions/listen. ping, logging/setLevel
// and resources/subscribe are no longer part of it.
var modernMethods = []string{
	mcp.MethodDiscover, mcp.MethodListTools, mcp.MethodCallTool, mcp.MethodListResources, mcp.MethodListTemplates,
	mcp.MethodReadResource, mcp.MethodListPrompts, mcp.MethodGetPrompt, mcp.MethodComplete,
}

// cacheable are the methods whose results carry cache hints.
var cacheable = []string{mcp.MethodDiscover, mcp.MethodListTools, mcp.MethodListResources, mcp.MethodListTemplates, mcp.MethodReadResource, mcp.MethodListPrompts}

// modern takes a message of revision 2026-07-28. A session id on it is ignored, and a client that goes away has cancelled it.
func (h *Handler) modern(in *incoming) {
	if refusal := h.checkModern(in); refusal != nil {
		h.refuse(in, refusal)
		return
	}
	if in.Kind == jsonrpc.Notification {
		in.reply.Accepted()
		return
	}
	if in.Method == mcp.MethodDiscover {
		h.discover(in)
		return
	}
	if in.Method == mcp.MethodListen {
		h.listen(in)
		return
	}
	if refusal := h.checkModernMethod(in.Method); refusal != nil {
		h.refuse(in, refusal)
		return
	}
	request, refusal := h.request(in, mcp.Modern, session.NewClient(in.MetaMember(mcp.MetaCapabilities), in.MetaMember(mcp.MetaClientInfo), h.allowed()))
	if refusal == nil && in.http != nil {
		refusal = h.checkMirrors(in, request.Call)
	}
	if refusal != nil {
		h.refuse(in, refusal)
		return
	}
	request.Source = h.anonymous(in.Method)
	request.Client.Rounds, request.Client.Dial = true, h.Connections.Session
	request.Client.State, request.Client.Responses = in.Param("requestState"), in.Param("inputResponses")
	ctx, cancel := givenUpWith(in.ctx)
	defer cancel()
	h.do(ctx, in, request)
}

// checkMirrors compares the headers that repeat what a request's body says.
func (h *Handler) checkMirrors(in *incoming, call policy.Call) *policy.Refusal {
	refusal := mirror.CheckName(in.http.Header, in.Message)
	catalogue := h.Pipeline.Discovery.Catalogue()
	if refusal != nil || in.Method != mcp.MethodCallTool || catalogue == nil {
		return refusal
	}
	tool, err := listing.View(catalogue).Lookup(call.Tool)
	if err != nil {
		return nil
	}
	return mirror.CheckParams(in.http.Header, tool.InputSchema, call.Arguments)
}

// givenUpWith ends with what brought a request, with the client's giving up as its cause.
func givenUpWith(of context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(of))
	stop := context.AfterFunc(of, func() { cancel(requests.ErrGivenUp) })
	return ctx, func() { stop(); cancel(nil) }
}

// checkModern holds a message to what every modern one must have: the version in header and body alike, one that is
// spoken, the method in its header, and the client's capabilities.
func (h *Handler) checkModern(in *incoming) *policy.Refusal {
	version, _ := jsonrpc.String(in.MetaMember(mcp.MetaVersion))
	if in.MetaMember(mcp.MetaVersion) == nil { // a notification without _meta
		version = mcp.Modern
	}
	if header := in.header(mcp.HeaderVersion); in.http != nil && header != version {
		return mirror.Mismatch(mcp.HeaderVersionText, header, version)
	}
	if version != mcp.Modern {
		return unsupportedVersion(version)
	}
	if header := in.header(mcp.HeaderMethod); in.http != nil && header != in.Method {
		return mirror.Mismatch(mcp.HeaderMethod, header, in.Method)
	}
	if in.Kind == jsonrpc.Request && !jsonrpc.IsObject(in.MetaMember(mcp.MetaCapabilities)) {
		return &policy.Refusal{Kind: policy.InvalidParams, Stage: policy.StageParse, Reason: "MetaMissing", Path: "/_meta",
			Message: "params._meta needs " + mcp.MetaCapabilities + ", an object, which may be empty."}
	}
	return nil
}

func (h *Handler) checkModernMethod(method string) *policy.Refusal {
	if slices.Contains(modernMethods, method) {
		return nil
	}
	if d := h.Pipeline.Document(); d != nil && policy.PassesThrough(&d.Policy, method) {
		return nil
	}
	return &policy.Refusal{Kind: policy.MethodNotFound, Stage: policy.StageMethod, Reason: "UnknownMethod",
		Message: fmt.Sprintf("Method %q is not served here in revision %s.", method, mcp.Modern)}
}

// discover answers from what the server said of itself, whatever its own era.
func (h *Handler) discover(in *incoming) {
	if h.Pipeline.Document() == nil {
		h.refuse(in, h.sessions.Unready())
		return
	}
	info, ok := h.Info()
	if !ok {
		h.refuse(in, pipeline.TransportRefusal(&upstream.Error{Message: "The server has not answered yet. Try again in some seconds."}, ""))
		return
	}
	out := []byte(`{"supportedVersions":[`)
	for i, v := range mcp.Revisions {
		if i > 0 {
			out = append(out, ',')
		}
		out = jsonrpc.AppendString(out, v)
	}
	out = append(append(out, `],"capabilities":`...), withoutLogging(h.serverCapabilities(info.Capabilities))...)
	if info.Instructions != nil {
		out = append(append(out, `,"instructions":`...), info.Instructions...)
	}
	out = append(append(out, `,"_meta":{"`+mcp.MetaServerInfo+`":`...), orUnknown(info.ServerInfo)...)
	h.sendResult(in, h.shaped(in, upstreamNone, append(out, "}}"...)))
}

// shaped gives a result the members that the client's revision has and takes out those that it does not know. Cache hints
// are always private: lists depend on policy, and may one day depend on the caller.
func (h *Handler) shaped(in *incoming, era upstream.Era, result []byte) []byte {
	if !in.modern {
		if era != upstream.Modern {
			return result
		}
		return jsonrpc.ReplaceMembers(result, jsonrpc.Edit{Key: "resultType"}, jsonrpc.Edit{Key: "ttlMs"}, jsonrpc.Edit{Key: "cacheScope"})
	}
	var edits []jsonrpc.Edit
	if _, ok := jsonrpc.Member(result, "resultType"); !ok {
		edits = append(edits, jsonrpc.Edit{Key: "resultType", Raw: []byte(`"complete"`)})
	}
	if slices.Contains(cacheable, in.Method) {
		edits = append(edits, jsonrpc.Edit{Key: "cacheScope", Raw: []byte(`"private"`)})
		if _, ok := jsonrpc.Member(result, "ttlMs"); !ok {
			edits = append(edits, jsonrpc.Edit{Key: "ttlMs", Raw: strconv.AppendInt(nil, listTTL.Milliseconds(), 10)})
		}
	}
	return jsonrpc.ReplaceMembers(result, edits...)
}
