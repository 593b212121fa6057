// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package input holds what a request needs to be continued in another round (MCP 2026-07-28, Multi Round-Trip Requests):
// the sealed requestState, which is good once, for one caller and one request, and the form of what a client is asked for.
//
// It decides nothing about policy, asks nobody and moves no message. It never imports Kubernetes, the API, or the packages
// that do.
package input

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"
)

// Prefix begins the names of our own in a round: the states that are given out, and the keys under which our own questions
// stand. No server may use it.
const Prefix = "toolgate.dev/"

const (
	keySize      = 32 // AES-256
	instanceSize = 8
	idSize       = 16
)

// The bounds of what may be open at once: rounds that a client was asked to continue and has not.
const (
	maxOpen       = 4096
	maxOpenCaller = 256
)

// Why a state is not taken.
var (
	// ErrElsewhere: it was given out by another process; that one has ended, or is another replica.
	ErrElsewhere = errors.New("it was given out by another replica of this server, or before a restart; begin the request again without it")
	// ErrAltered: it is none of ours, or was changed.
	ErrAltered = errors.New("it is not one that was given out here, or it was changed")
	// ErrExpired: its time is over.
	ErrExpired = errors.New("it has expired; begin the request again without it")
	// ErrUsed: it was redeemed before.
	ErrUsed = errors.New("it was used before, and each is good once; begin the request again without it")
	// ErrForeign: it belongs to another caller or request.
	ErrForeign = errors.New("it was given for another caller or another request")
	// ErrFull: too many are open.
	ErrFull = errors.New("too many requests wait for input")
)

// Owner is what a state belongs to. Nobody else can redeem it, and for nothing else.
type Owner struct {
	// Caller is what policy knows of the caller; Method and Name are those of the request, Name the tool, prompt or URI.
	Caller, Method, Name string
}

// State is what is sealed.
type State struct {
	// Server is the server's own requestState, nil if it gave none.
	Server *string `json:"server,omitempty"`
	// Keys are those that the client was asked to answer under.
	Keys []string `json:"keys,omitempty"`
	// Parked names the call to the server that waits for the answers; 0 for none.
	Parked uint64 `json:"parked,omitempty"`
	// Content is the digest of what the request says; it is empty where a retry may say something else.
	Content string `json:"content,omitempty"`
	// Confirmation is the one that is asked for or was given, nil for none.
	Confirmation *Confirmation `json:"confirmation,omitempty"`
}

// Confirmation is what a person confirms: this call, of this definition, under this policy.
type Confirmation struct {
	// Given says that the person has confirmed; until then the confirmation is only asked for.
	Given bool `json:"given,omitempty"`
	// Arguments, Definition and Policy are digests: of the arguments, of the tool's definition, of the registry document.
	Arguments  string `json:"arguments"`
	Definition string `json:"definition"`
	Policy     string `json:"policy"`
}

// sealed is a state with what binds it.
type sealed struct {
	ID      string `json:"id"`
	Expires int64  `json:"expires"` // Unix milliseconds
	Owner   Owner  `json:"owner"`
	State   State  `json:"state"`
}

// Vault seals states with a key that is born with it, so that a restart voids them all, and redeems each once. It is safe
// for concurrent use.
type Vault struct {
	now    func() time.Time
	aead   cipher.AEAD
	prefix string // of every state of this vault

	mu      sync.Mutex
	open    map[string]entry // by id
	callers map[string]int   // how many of each
}

type entry struct {
	caller  string
	expires time.Time
}

// NewVault gives a vault on a clock. The tag ends the vault's name, which stands in every state.
func NewVault(now func() time.Time, tag string) *Vault {
	block, err := aes.NewCipher(random(keySize))
	if err != nil {
		panic("input: a key of the right size: " + err.Error())
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic("input: a block of the right size: " + err.Error())
	}
	return &Vault{
		now: now, aead: aead, prefix: Prefix + hex.EncodeToString(random(instanceSize)) + tag + "/",
		open: map[string]entry{}, callers: map[string]int{},
	}
}

// Issuer is the name of the vault that a state says it is of, with its tag; empty for what is no state of ours. It proves
// nothing: only that vault can tell.
func Issuer(state string) string {
	name, ours := strings.CutPrefix(state, Prefix)
	if !ours {
		return ""
	}
	name, _, _ = strings.Cut(name, "/")
	return name
}

func random(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails: crypto/rand ends the process instead
	return b
}

// Seal gives a state for owner that is good once and for ttl. The error is ErrFull.
func (v *Vault) Seal(owner Owner, state State, ttl time.Duration) (string, error) {
	expires := v.now().Add(ttl)
	s := sealed{ID: hex.EncodeToString(random(idSize)), Expires: expires.UnixMilli(), Owner: owner, State: state}
	text, err := json.Marshal(s)
	if err != nil {
		panic("input: encoding plain strings: " + err.Error()) // strings and numbers always encode
	}
	if !v.admit(s.ID, entry{owner.Caller, expires}) {
		return "", ErrFull
	}
	nonce := random(v.aead.NonceSize())
	return v.prefix + base64.RawURLEncoding.EncodeToString(v.aead.Seal(nonce, nonce, text, []byte(v.prefix))), nil
}

func (v *Vault) admit(id string, e entry) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.open) >= maxOpen || v.callers[e.caller] >= maxOpenCaller {
		v.sweep()
	}
	if len(v.open) >= maxOpen || v.callers[e.caller] >= maxOpenCaller {
		return false
	}
	v.open[id] = e
	v.callers[e.caller]++
	return true
}

// sweep forgets what has expired.
func (v *Vault) sweep() {
	now := v.now()
	for id, e := range v.open {
		if !now.Before(e.expires) {
			v.forget(id, e)
		}
	}
}

func (v *Vault) forget(id string, e entry) {
	delete(v.open, id)
	if v.callers[e.caller]--; v.callers[e.caller] == 0 {
		delete(v.callers, e.caller)
	}
}

// Redeem opens a state that owner sends back, once. One that somebody else sends stays good for its owner.
func (v *Vault) Redeem(owner Owner, text string) (State, error) {
	s, err := v.unseal(text)
	if err != nil {
		return State{}, err
	}
	switch {
	case s.Owner != owner:
		return State{}, ErrForeign
	case v.now().UnixMilli() >= s.Expires:
		return State{}, ErrExpired
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	e, ok := v.open[s.ID]
	if !ok {
		return State{}, ErrUsed
	}
	v.forget(s.ID, e)
	return s.State, nil
}

func (v *Vault) unseal(text string) (sealed, error) {
	encoded, ours := strings.CutPrefix(text, v.prefix)
	if !ours {
		if strings.HasPrefix(text, Prefix) {
			return sealed{}, ErrElsewhere
		}
		return sealed{}, ErrAltered
	}
	// Strict: with loose trailing bits, several texts would stand for one state.
	data, err := base64.RawURLEncoding.Strict().DecodeString(encoded)
	if err != nil || len(data) < v.aead.NonceSize() {
		return sealed{}, ErrAltered
	}
	nonce, box := data[:v.aead.NonceSize()], data[v.aead.NonceSize():]
	plain, err := v.aead.Open(nil, nonce, box, []byte(v.prefix))
	if err != nil {
		return sealed{}, ErrAltered
	}
	var s sealed
	if err := json.Unmarshal(plain, &s); err != nil {
		return sealed{}, ErrAltered
	}
	return s, nil
}
