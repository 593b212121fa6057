// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"strings"

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
	done    bool
	value   any // map[string]any, or *types.Err
	size    int
	members map[string]memberSize // made when first asked for
}

// memberSize is the size of one argument: of all of it, and of the largest value directly within it.
type memberSize struct{ whole, part int }

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

// largest gives the size of the largest value that the expression can reach.
func (a *activation) largest(r reads) int {
	size := 0
	if r.args {
		size = a.decoded(varArgs).size
	}
	if r.rawArgs {
		size = max(size, a.decoded(varRawArgs).size)
	}
	if r.context {
		size = max(size, a.context())
	}
	return size
}

func (a *activation) context() int {
	if a.contextSize < 0 {
		a.contextSize = contextSize(a.in)
	}
	return a.contextSize
}

// sizes tells how large the values of the call are that an expression can reach. What lies in the arguments is told apart
// by the first two steps of a path.
func (a *activation) sizes(r reads) sizes {
	return func(path []string) (int, bool) {
		switch {
		case len(path) == 0:
			return a.largest(r), true
		case objectVariables[path[0]] != nil:
			return a.context(), true
		case path[0] == varArgs || path[0] == varRawArgs:
			return a.argSize(path), true
		default:
			return 0, false
		}
	}
}

// argSize gives the size of the largest value at or below a path into the arguments.
func (a *activation) argSize(path []string) int {
	l := a.decoded(path[0])
	if len(path) == 1 || strings.HasPrefix(path[1], "@") {
		return l.size
	}
	if l.members == nil {
		l.members = memberSizes(l.value)
	}
	if len(path) == 2 {
		return l.members[path[1]].whole // 0 where there is none: reading it ends the evaluation
	}
	return l.members[path[1]].part
}

func memberSizes(args any) map[string]memberSize {
	members, _ := args.(map[string]any)
	sizes := make(map[string]memberSize, len(members))
	for name, value := range members {
		size := memberSize{whole: measure(value)}
		switch value := value.(type) {
		case []any:
			for _, element := range value {
				size.part = max(size.part, measure(element))
			}
		case map[string]any:
			for key, member := range value {
				size.part = max(size.part, len(key), measure(member))
			}
		}
		sizes[name] = size
	}
	return sizes
}

// contextSize is the size of the largest value outside of the arguments.
func contextSize(in *Input) int {
	size := max(len(in.Tool.Name), len(in.Tool.Title), len(in.Tool.Version), len(in.Call.URI), len(in.Call.Name),
		len(in.Call.ProtocolVersion), len(in.Caller.Name), len(in.Caller.Groups), len(in.Server.Capabilities),
		len(in.Confirmed.User), measure(in.Caller.Claims), measure(in.Client.Claimed))
	for _, group := range in.Caller.Groups {
		size = max(size, len(group))
	}
	return size
}

// measure gives the size of the largest value in v: the bytes of the longest string, or how many values v holds at all
// depths, whichever is more. (Comparing two collections goes through all of what they hold.)
func measure(v any) int {
	m := measurer{}
	m.add(v)
	return m.size()
}

type measurer struct{ values, longest int }

func (m *measurer) size() int { return max(m.values, m.longest) }

func (m *measurer) text(s string) { m.longest = max(m.longest, len(s)) }

func (m *measurer) add(v any) {
	m.values++
	switch v := v.(type) {
	case string:
		m.text(v)
	case []any:
		for _, element := range v {
			m.add(element)
		}
	case map[string]any:
		for key, member := range v {
			m.text(key)
			m.add(member)
		}
	}
}
