// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package input

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"toolgate.dev/toolgate/internal/jsonrpc"
)

// ResultType is the kind of a result.
type ResultType string

// The kinds of results that MCP 2026-07-28 has in its core.
const (
	Complete ResultType = "complete"
	Required ResultType = "input_required"
)

// TypeOf gives the kind of a result; one that does not say is complete. What is no string is a kind that nobody knows.
func TypeOf(result []byte) ResultType {
	raw, ok := jsonrpc.Member(result, "resultType")
	if !ok {
		return Complete
	}
	kind, _ := jsonrpc.String(raw)
	return ResultType(kind)
}

// The bounds of one round.
const (
	maxQuestions = 32
	maxState     = 256 << 10 // of a server's requestState, in bytes
)

// Question is one thing that a client is asked for. Params are raw JSON, nil if absent.
type Question struct {
	Key, Method string
	Params      []byte
}

// Round is what a server asks for in place of a result.
type Round struct {
	Questions []Question
	// State is the server's requestState, nil if it gave none.
	State *string
}

// Read reads a server's result of the kind Required. The error says what in it is not as MCP has it.
func Read(result []byte) (Round, error) {
	var r Round
	if raw, ok := jsonrpc.Member(result, "requestState"); ok {
		state, isString := jsonrpc.String(raw)
		if !isString || len(raw) > maxState {
			return Round{}, fmt.Errorf("requestState is no string of at most %d bytes", maxState)
		}
		r.State = &state
	}
	requests, ok := jsonrpc.Member(result, "inputRequests")
	if ok && !jsonrpc.IsObject(requests) {
		return Round{}, errors.New("inputRequests is no object")
	}
	for key, request := range jsonrpc.Members(requests) {
		q, err := question(key, request)
		if err != nil {
			return Round{}, err
		}
		if slices.ContainsFunc(r.Questions, func(other Question) bool { return other.Key == key }) {
			return Round{}, errors.New("two input requests stand under one key, so that nobody could say which an answer is to")
		}
		if r.Questions = append(r.Questions, q); len(r.Questions) > maxQuestions {
			return Round{}, fmt.Errorf("more than %d questions in one round", maxQuestions)
		}
	}
	if !ok && r.State == nil {
		return Round{}, errors.New("it has neither inputRequests nor requestState")
	}
	return r, nil
}

func question(key string, request []byte) (Question, error) {
	raw, _ := jsonrpc.Member(request, "method")
	method, ok := jsonrpc.String(raw)
	params, has := jsonrpc.Member(request, "params")
	switch {
	case strings.HasPrefix(key, Prefix):
		return Question{}, fmt.Errorf("an input request stands under the prefix %s, which is not the server's", Prefix)
	case !ok, has && !jsonrpc.IsObject(params):
		return Question{}, errors.New("an input request is no object with a method, and params that are an object or absent")
	}
	return Question{Key: key, Method: method, Params: params}, nil
}

// Keys are those of the questions.
func Keys(questions []Question) []string {
	keys := make([]string, len(questions))
	for i, q := range questions {
		keys[i] = q.Key
	}
	return keys
}

// Result writes the result by which a client is asked. What else stands in base, a server's result, stays; nil has nothing.
// Without questions the client is only to try again, with the state.
func Result(base []byte, questions []Question, state string) []byte {
	edits := []jsonrpc.Edit{
		{Key: "resultType", Raw: jsonrpc.AppendString(nil, string(Required))},
		{Key: "requestState", Raw: jsonrpc.AppendString(nil, state)},
	}
	if len(questions) > 0 {
		edits = append(edits, jsonrpc.Edit{Key: "inputRequests", Raw: appendQuestions(nil, questions)})
	}
	return jsonrpc.ReplaceMembers(base, edits...)
}

func appendQuestions(requests []byte, questions []Question) []byte {
	requests = append(requests, '{')
	for i, q := range questions {
		if i > 0 {
			requests = append(requests, ',')
		}
		requests = append(jsonrpc.AppendString(requests, q.Key), `:{"method":`...)
		requests = jsonrpc.AppendString(requests, q.Method)
		if q.Params != nil {
			requests = append(append(requests, `,"params":`...), q.Params...)
		}
		requests = append(requests, '}')
	}
	return append(requests, '}')
}

// Answers are what a client sends back: the raw results by key.
type Answers map[string][]byte

// ReadAnswers reads inputResponses; nil are none.
func ReadAnswers(responses []byte) (Answers, error) {
	if responses == nil {
		return nil, nil
	}
	if !jsonrpc.IsObject(responses) {
		return nil, errors.New("inputResponses is no object")
	}
	answers := Answers{}
	for key, value := range jsonrpc.Members(responses) {
		if !jsonrpc.IsObject(value) {
			return nil, fmt.Errorf("the input response under %s is no object", jsonrpc.AppendString(nil, key))
		}
		answers[key] = value
	}
	return answers, nil
}

// Continue writes the params by which a request is continued at its server. Without answers or state there is no such member.
func Continue(params []byte, answers Answers, state *string) []byte {
	edits := []jsonrpc.Edit{{Key: "inputResponses"}, {Key: "requestState"}}
	if len(answers) > 0 {
		out := []byte{'{'}
		for i, key := range slices.Sorted(maps.Keys(answers)) {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(append(jsonrpc.AppendString(out, key), ':'), answers[key]...)
		}
		out = append(out, '}')
		edits[0].Raw = out
	}
	if state != nil {
		edits[1].Raw = jsonrpc.AppendString(nil, *state)
	}
	if edits[0].Raw == nil && edits[1].Raw == nil {
		return params
	}
	return jsonrpc.ReplaceMembers(params, edits...)
}
