// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/interpreter"

	"toolgate.dev/toolgate/internal/rules/cost"
)

// Activation is the input of one call as CEL resolves it: made once for all rules, used by one goroutine. Arguments are
// decoded when the first rule looks at them.
type Activation struct {
	in *Input

	tool, server, caller, client, call, confirmed object

	args, rawArgs lazyArgs
	contextSize   int          // of everything but the arguments; -1 until it is known
	context       *cost.Extent // likewise, once it is asked for
}

// lazyArgs is decoded JSON, or the error that reading it gives.
type lazyArgs struct {
	done  bool
	value any          // map[string]any, or *types.Err
	size  int          // see measurer
	bound *cost.Extent // once it is asked for
}

// NewActivation makes one; nobody may write to in afterwards.
func NewActivation(in *Input) *Activation {
	a := &Activation{in: in, contextSize: -1}
	a.tool = object{toolKind, a}
	a.server = object{serverKind, a}
	a.caller = object{callerKind, a}
	a.client = object{clientKind, a}
	a.call = object{callKind, a}
	a.confirmed = object{confirmedKind, a}
	return a
}

// ResolveName implements cel.Activation.
func (a *Activation) ResolveName(name string) (any, bool) {
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
func (a *Activation) Parent() interpreter.Activation { return nil }

// ArgsJSON gives the arguments with defaults filled in.
func (a *Activation) ArgsJSON() []byte {
	if a.in.Args != nil {
		return a.in.Args
	}
	return a.rawJSON()
}

func (a *Activation) rawJSON() []byte {
	if a.in.RawArgs != nil {
		return a.in.RawArgs
	}
	return []byte("{}")
}

func (a *Activation) decoded(name string) *lazyArgs {
	l, raw := &a.args, a.ArgsJSON()
	if name == varRawArgs || a.in.Args == nil {
		l, raw = &a.rawArgs, a.rawJSON()
	}
	if l.done {
		return l
	}
	l.done = true
	v, size, err := decodeArgs(raw)
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
func (a *Activation) largest(r reads) int {
	size := 0
	if r.args {
		size = a.decoded(varArgs).size
	}
	if r.rawArgs {
		size = max(size, a.decoded(varRawArgs).size)
	}
	if r.context {
		if a.contextSize < 0 {
			a.contextSize = contextSize(a.in)
		}
		size = max(size, a.contextSize)
	}
	return size
}

// extent bounds a variable by the values of this call.
func (a *Activation) extent(name string) cost.Extent {
	if name == varArgs || name == varRawArgs {
		return a.decoded(name).extent()
	}
	if a.context == nil {
		a.context = &cost.Extent{}
		a.context.Add(contextValues(a.in))
	}
	return *a.context
}

func (l *lazyArgs) extent() cost.Extent {
	if l.bound == nil {
		args, _ := l.value.(map[string]any)
		bound := cost.Object(args)
		l.bound = &bound
	}
	return *l.bound
}

// contextValues are the values outside of the arguments whose size somebody else chooses.
func contextValues(in *Input) []any {
	return []any{
		in.Tool.Name, in.Tool.Title, in.Tool.Version, in.Call.Method, in.Call.URI, in.Call.Name, in.Call.ProtocolVersion,
		in.Server.Name, in.Server.Namespace, in.Server.Domain, in.Server.Trust, in.Server.Capabilities,
		in.Caller.Kind, in.Caller.Name, in.Caller.Namespace, in.Caller.Groups, in.Caller.Claims, in.Client.Claimed,
		in.Confirmed.By, in.Confirmed.User,
	}
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
