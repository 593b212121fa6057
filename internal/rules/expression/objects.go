// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// field is one field of an object that rules see.
type field struct {
	typ *types.Type
	get func(a *Activation) ref.Val
}

// kind is the type of an object that rules see. Its fields are known to the checker, so that a misspelt one is an error
// when the rule is compiled, and are read without reflection.
type kind struct {
	name   string
	typ    *types.Type
	fields map[string]field
}

func newKind(name string, fields map[string]field) *kind {
	return &kind{name: "toolgate." + name, typ: types.NewObjectType("toolgate." + name), fields: fields}
}

func text(get func(in *Input) string) field {
	return field{types.StringType, func(a *Activation) ref.Val { return types.String(get(a.in)) }}
}

func flag(get func(in *Input) bool) field {
	return field{types.BoolType, func(a *Activation) ref.Val { return types.Bool(get(a.in)) }}
}

func texts(get func(in *Input) []string) field {
	return field{types.NewListType(types.StringType), func(a *Activation) ref.Val {
		return types.NewStringList(types.DefaultTypeAdapter, get(a.in))
	}}
}

func claims(get func(in *Input) map[string]any) field {
	return field{types.NewMapType(types.StringType, types.DynType), func(a *Activation) ref.Val {
		return types.NewStringInterfaceMap(adapter{types.DefaultTypeAdapter}, get(a.in))
	}}
}

var (
	hintsKind = newKind("Hints", map[string]field{
		"destructive": flag(func(in *Input) bool { return in.Tool.Hints.Destructive }),
		"readOnly":    flag(func(in *Input) bool { return in.Tool.Hints.ReadOnly }),
		"idempotent":  flag(func(in *Input) bool { return in.Tool.Hints.Idempotent }),
		"openWorld":   flag(func(in *Input) bool { return in.Tool.Hints.OpenWorld }),
	})
	toolKind = newKind("Tool", map[string]field{
		"name":        text(func(in *Input) string { return in.Tool.Name }),
		"title":       text(func(in *Input) string { return in.Tool.Title }),
		"version":     text(func(in *Input) string { return in.Tool.Version }),
		"destructive": flag(func(in *Input) bool { return in.Tool.Destructive }),
		"hints":       {hintsKind.typ, func(a *Activation) ref.Val { return &object{hintsKind, a} }},
	})
	serverKind = newKind("Server", map[string]field{
		"name":         text(func(in *Input) string { return in.Server.Name }),
		"namespace":    text(func(in *Input) string { return in.Server.Namespace }),
		"domain":       text(func(in *Input) string { return in.Server.Domain }),
		"capabilities": texts(func(in *Input) []string { return in.Server.Capabilities }),
		"trust":        text(func(in *Input) string { return in.Server.Trust }),
	})
	callerKind = newKind("Caller", map[string]field{
		"kind":      text(func(in *Input) string { return in.Caller.Kind }),
		"name":      text(func(in *Input) string { return in.Caller.Name }),
		"namespace": text(func(in *Input) string { return in.Caller.Namespace }),
		"groups":    texts(func(in *Input) []string { return in.Caller.Groups }),
		"claims":    claims(func(in *Input) map[string]any { return in.Caller.Claims }),
	})
	clientKind = newKind("Client", map[string]field{
		"claimed": claims(func(in *Input) map[string]any { return in.Client.Claimed }),
	})
	callKind = newKind("Call", map[string]field{
		"method":          text(func(in *Input) string { return in.Call.Method }),
		"uri":             text(func(in *Input) string { return in.Call.URI }),
		"name":            text(func(in *Input) string { return in.Call.Name }),
		"protocolVersion": text(func(in *Input) string { return in.Call.ProtocolVersion }),
		"time":            {types.TimestampType, func(a *Activation) ref.Val { return types.Timestamp{Time: a.in.Call.Time} }},
	})
	confirmedKind = newKind("Confirmed", map[string]field{
		"by":   text(func(in *Input) string { return in.Confirmed.By }),
		"user": text(func(in *Input) string { return in.Confirmed.User }),
	})

	objectVariables = map[string]*kind{
		varTool: toolKind, varServer: serverKind, varCaller: callerKind, varClient: clientKind, varCall: callKind,
		varConfirmed: confirmedKind,
	}
	kindsByName = byName(hintsKind, toolKind, serverKind, callerKind, clientKind, callKind, confirmedKind)
)

func byName(kinds ...*kind) map[string]*kind {
	m := map[string]*kind{}
	for _, k := range kinds {
		m[k.name] = k
	}
	return m
}

// provider adds our kinds to CEL's own types.
type provider struct{ types.Provider }

func (p provider) FindStructType(name string) (*types.Type, bool) {
	if k, ok := kindsByName[name]; ok {
		return types.NewTypeTypeWithParam(k.typ), true
	}
	return p.Provider.FindStructType(name)
}

func (p provider) FindStructFieldNames(name string) ([]string, bool) {
	if k, ok := kindsByName[name]; ok {
		return slices.Sorted(maps.Keys(k.fields)), true
	}
	return p.Provider.FindStructFieldNames(name)
}

func (p provider) FindStructFieldType(name, fieldName string) (*types.FieldType, bool) {
	k, ok := kindsByName[name]
	if !ok {
		return p.Provider.FindStructFieldType(name, fieldName)
	}
	f, ok := k.fields[fieldName]
	if !ok {
		return nil, false
	}
	return &types.FieldType{
		Type:    f.typ,
		IsSet:   func(target any) bool { return isSet(f, target) },
		GetFrom: func(target any) (any, error) { return getFrom(f, target) },
	}, true
}

// isSet says whether has() finds the field: as for any CEL message, when it is not empty.
func isSet(f field, target any) bool {
	v, err := getFrom(f, target)
	if err != nil {
		return false
	}
	z, ok := v.(interface{ IsZeroValue() bool })
	return !ok || !z.IsZeroValue()
}

func getFrom(f field, target any) (any, error) {
	o, ok := target.(*object)
	if !ok {
		return nil, fmt.Errorf("no such field on %T", target)
	}
	return f.get(o.act), nil
}

// object is a value of one of our kinds: a view of the input of one call.
type object struct {
	kind *kind
	act  *Activation
}

// ConvertToNative implements ref.Val; an object has no native form.
func (o *object) ConvertToNative(t reflect.Type) (any, error) {
	return nil, fmt.Errorf("a %s can't be converted to %s", o.kind.name, t)
}

// ConvertToType implements ref.Val.
func (o *object) ConvertToType(t ref.Type) ref.Val {
	switch t.TypeName() {
	case o.kind.name:
		return o
	case types.TypeType.TypeName():
		return o.kind.typ
	default:
		return types.NewErr("type conversion error from '%s' to '%s'", o.kind.name, t.TypeName())
	}
}

// Equal implements ref.Val: within one call there is one value of each kind.
func (o *object) Equal(other ref.Val) ref.Val {
	p, ok := other.(*object)
	return types.Bool(ok && p.kind == o.kind && p.act == o.act)
}

// Type implements ref.Val.
func (o *object) Type() ref.Type { return o.kind.typ }

// Value implements ref.Val.
func (o *object) Value() any { return o }

// Get implements traits.Indexer, for fields that are read through dyn.
func (o *object) Get(index ref.Val) ref.Val {
	name, _ := index.Value().(string)
	f, ok := o.kind.fields[name]
	if !ok {
		return types.NewErr("no such field: %s", name)
	}
	return f.get(o.act)
}

// IsSet implements traits.FieldTester.
func (o *object) IsSet(index ref.Val) ref.Val {
	name, _ := index.Value().(string)
	f, ok := o.kind.fields[name]
	if !ok {
		return types.NewErr("no such field: %s", name)
	}
	return types.Bool(isSet(f, o))
}

// adapter turns decoded JSON into CEL values, also where numbers are still text (verified claims).
type adapter struct{ types.Adapter }

func (a adapter) NativeToValue(value any) ref.Val {
	switch v := value.(type) {
	case json.Number:
		n, err := number(v.String())
		if err != nil {
			return types.NewErr("a number is neither a whole number of 64 bits nor an exact double")
		}
		return a.Adapter.NativeToValue(n)
	case map[string]any:
		return types.NewStringInterfaceMap(a, v)
	case []any:
		return types.NewDynamicList(a, v)
	default:
		return a.Adapter.NativeToValue(value)
	}
}
