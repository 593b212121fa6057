// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/cel-go/common/types/ref"
)

// MaxMessageSize is the length of a rule's message in characters; with its fields filled in it has at most MaxMessageBytes.
const (
	MaxMessageSize  = 1024
	MaxMessageBytes = 4 * MaxMessageSize
)

// maxFieldBytes is how much of one value a message shows, and absent what it shows for a field that is not there.
const (
	maxFieldBytes = 200
	absent        = "(none)"
)

// placeholder is {name} or {name.member.0}: whatever else stands in braces is text.
var placeholder = regexp.MustCompile(`\{[A-Za-z_]\w*(\.[\w-]+)*\}`)

// Template is a message with fields to fill in.
type Template []part

// part is a text, or a path to a field.
type part struct {
	text string
	path []string
}

// ParseTemplate reads a message. A field that rules don't see is an error with its column.
func ParseTemplate(message string) (Template, []Problem) {
	if size := utf8.RuneCountInString(message); size > MaxMessageSize {
		return nil, []Problem{{Message: fmt.Sprintf("has %d characters; at most %d are allowed", size, MaxMessageSize)}}
	}
	var t Template
	var errs []Problem
	end := 0
	for _, found := range placeholder.FindAllStringIndex(message, -1) {
		path := strings.Split(message[found[0]+1:found[1]-1], ".")
		if problem := unknownField(path); problem != "" {
			errs = append(errs, Problem{
				Line:    1 + strings.Count(message[:found[0]], "\n"),
				Column:  1 + utf8.RuneCountInString(message[strings.LastIndexByte(message[:found[0]], '\n')+1:found[0]]),
				Message: problem,
			})
		}
		t = append(t, part{text: message[end:found[0]]}, part{path: path})
		end = found[1]
	}
	return append(t, part{text: message[end:]}), errs
}

// unknownField says what is wrong with the path of a placeholder, or "".
func unknownField(path []string) string {
	root := path[0]
	if root == varArgs || root == varRawArgs {
		if len(path) == 1 {
			return fmt.Sprintf("{%s} names no member: write {%s.member}", root, root)
		}
		return ""
	}
	k, ok := objectVariables[root]
	if !ok {
		roots := append(slices.Sorted(maps.Keys(objectVariables)), varArgs, varRawArgs)
		slices.Sort(roots)
		return fmt.Sprintf("{%s} starts with an unknown name; known are %s", strings.Join(path, "."), strings.Join(roots, ", "))
	}
	for _, name := range path[1:] {
		f, ok := k.fields[name]
		if !ok {
			return fmt.Sprintf("{%s}: %s has no field %s", strings.Join(path, "."), k.name, name)
		}
		if k = kindsByName[f.typ.TypeName()]; k == nil {
			return "" // what lies below is known only at a call
		}
	}
	return fmt.Sprintf("{%s} is not one value: name a field of it", strings.Join(path, "."))
}

// Fill writes the message for one call. It never fails: a field that is not there is shown as absent.
func (t Template) Fill(a *Activation) string {
	var b strings.Builder
	for _, p := range t {
		if p.path == nil {
			b.WriteString(p.text)
		} else {
			b.WriteString(a.show(p.path))
		}
	}
	return Shorten(b.String(), MaxMessageBytes)
}

// show writes one field of a call on one line.
func (a *Activation) show(path []string) string {
	v, _ := a.ResolveName(path[0])
	for _, token := range path[1:] {
		if v = member(v, token); v == nil {
			return absent
		}
	}
	if value, ok := v.(ref.Val); ok {
		v = value.Value()
	}
	switch v := v.(type) {
	case nil:
		return absent
	case string:
		return oneLine(Shorten(v, maxFieldBytes))
	}
	text, err := json.Marshal(v)
	if err != nil {
		return absent
	}
	return oneLine(Shorten(string(text), maxFieldBytes))
}

// member goes one step down, in an object of ours, a map or a list; nil where there is nothing.
func member(v any, token string) any {
	switch v := v.(type) {
	case *object:
		if f, ok := v.kind.fields[token]; ok {
			return plain(f.get(v.act))
		}
	case map[string]any:
		return v[token]
	case []any:
		if i, err := strconv.Atoi(token); err == nil && i >= 0 && i < len(v) {
			return v[i]
		}
	case []string:
		if i, err := strconv.Atoi(token); err == nil && i >= 0 && i < len(v) {
			return v[i]
		}
	}
	return nil
}

// plain gives the Go value behind a CEL value, but leaves our objects as they are.
func plain(v ref.Val) any {
	if o, ok := v.(*object); ok {
		return o
	}
	return v.Value()
}
