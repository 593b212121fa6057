// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"encoding/json"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/interpreter"
)

// activation is the input of one call as CEL resolves it: made once for all rules, used by one goroutine. Arguments are
// decoded when the first rule looks at them.
type activation struct {
	in *Input

	tool, server, caller, client, call, confirmed object

	args, rawArgs lazyArgs
	contextSize   int // of everything but the arguments; -1 until it is known
}

// lazyArgs is decoded JSON, or the error that reading it gives.
type lazyArgs struct {
	done  bool
	value any // map[string]any, or *types.Err
	size  int
}

func newActivation(in *Input) *activation {
	a := &activation{in: in, contextSize: -1}
	a.tool = object{toolKind, a}
	a.server = object{serverKind, a}
	a.caller = object{callerKind, a}
	a.client = object{clientKind, a}
	a.call = object{callKind, a}
	a.confirmed = object{confirmedKind, a}
	return a
}

// ResolveName implements cel.Activation.
func (a *activation) ResolveName(name string) (any, bool) {
	switch name {
	case varArgs:
		return a.decoded(varArgs).value, true
	case varRawArgs:
		return a.decoded(varRawArgs).value, true
	case varTool:
		return &a.tool, true
	case varServer:
		return &a.server, true
	case varCaller:
		return &a.caller, true
	case varClient:
		return &a.client, true
	case varCall:
		return &a.call, true
	case varConfirmed:
		return &a.confirmed, true
	default:
		return nil, false
	}
}

// Parent implements cel.Activation.
func (a *activation) Parent() interpreter.Activation { return nil }

// argsJSON gives the arguments with defaults filled in.
func (a *activation) argsJSON() []byte {
	if a.in.Args != nil {
		return a.in.Args
	}
	return a.rawJSON()
}

func (a *activation) rawJSON() []byte {
	if a.in.RawArgs != nil {
		return a.in.RawArgs
	}
	return []byte("{}")
}

func (a *activation) decoded(name string) *lazyArgs {
	l, raw := &a.args, a.argsJSON()
	if name == varRawArgs || a.in.Args == nil {
		l, raw = &a.rawArgs, a.rawJSON()
	}
	if l.done {
		return l
	}
	l.done = true
	v, size, err := decodeSized(raw)
	l.size = size
	switch _, isObject := v.(map[string]any); {
	case err != nil:
		l.value = types.NewErr("reading the arguments: %s", err.Error())
	case !isObject:
		l.value = types.NewErr("the arguments are not an object")
	default:
		l.value = v
	}
	return l
}

// large says whether a variable that the expression reads holds a string or collection over AssumedSize.
func (a *activation) large(reads reads) bool {
	if reads.args && a.decoded(varArgs).size > AssumedSize || reads.rawArgs && a.decoded(varRawArgs).size > AssumedSize {
		return true
	}
	if !reads.context {
		return false
	}
	if a.contextSize < 0 {
		a.contextSize = a.in.contextSize()
	}
	return a.contextSize > AssumedSize
}

// contextSize is the size of the largest string or collection outside of the arguments.
func (in *Input) contextSize() int {
	size := max(len(in.Tool.Name), len(in.Tool.Title), len(in.Tool.Version), len(in.Call.URI), len(in.Call.Name),
		len(in.Call.ProtocolVersion), len(in.Caller.Name), len(in.Caller.Groups), len(in.Server.Capabilities),
		len(in.Confirmed.User), sizeOf(in.Caller.Claims), sizeOf(in.Client.Claimed))
	for _, group := range in.Caller.Groups {
		size = max(size, len(group))
	}
	return size
}

func sizeOf(v any) int {
	switch v := v.(type) {
	case string:
		return len(v)
	case json.Number:
		return len(v)
	case []any:
		size := len(v)
		for _, element := range v {
			size = max(size, sizeOf(element))
		}
		return size
	case map[string]any:
		size := len(v)
		for key, member := range v {
			size = max(size, len(key), sizeOf(member))
		}
		return size
	default:
		return 0
	}
}
