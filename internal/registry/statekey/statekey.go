// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package statekey proves that an answer of /state is from the dispatcher of the pod that was asked, and that who asks is the
// manager: both know a key that no other container of the pod can read.
//
// It owns the key's derivation and what is authenticated, on either side. It is a leaf: it imports nothing of this module, and
// never Kubernetes.
package statekey

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
)

// Size is the length of keys and of what they are derived from, in bytes.
const Size = 32

// FileName is the key's name in its Secret, and the file's name in the dispatcher's volume.
const FileName = "key"

// Headers of GET /state: what the manager sends, and what the dispatcher answers with.
const (
	// HeaderNonce is chosen anew for each request.
	HeaderNonce = "Toolgate-Nonce"
	// HeaderProof proves that who asks has the key.
	HeaderProof = "Toolgate-Proof"
	// HeaderCode proves that the answer, 304 included, is to this request and from the pod's own dispatcher.
	HeaderCode = "Toolgate-Code"
)

// Key is the key of one server. The zero value is none.
type Key [Size]byte

// Derive gives a server's key: HKDF-Expand of RFC 5869 for one block, as the secret is 32 random bytes already. server is the
// UID of the MCPServer, so that one that is made again has another key.
func Derive(secret [Size]byte, server string) Key {
	return Key(sum(secret[:], []byte("toolgate state key "+server), []byte{1}))
}

// Parse reads a key as its file holds it.
func Parse(data []byte) (Key, error) {
	if len(data) != Size {
		return Key{}, fmt.Errorf("a key has %d bytes, and these are %d", Size, len(data))
	}
	return Key(data), nil
}

// Set says whether there is a key.
func (k Key) Set() bool { return k != Key{} }

// Name tells keys of one server apart and says nothing of the key: ten hexadecimal digits.
func (k Key) Name() string {
	return hex.EncodeToString(sum(k[:], []byte("name")))[:10]
}

// Format writes no part of the key, whatever the verb.
func (k Key) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte("(a key)")) } // a fmt.State fails where its writer does

// NewNonce gives a nonce for one request: at least 128 random bits as text.
func NewNonce() string { return rand.Text() }

// Proof is what a manager sends with a nonce.
func (k Key) Proof(nonce string) string {
	return hex.EncodeToString(sum(k[:], framed("ask", nonce)))
}

// Answer is what is authenticated of an answer to a request.
type Answer struct {
	Nonce, PodUID string
	Status        int
	ETag          string
	Body          []byte
}

// Code is what a dispatcher sends with an answer.
func (k Key) Code(a Answer) string {
	return hex.EncodeToString(sum(k[:], framed("answer", a.Nonce, a.PodUID, fmt.Sprint(a.Status), a.ETag), a.Body))
}

// Equal compares codes in constant time.
func Equal(a, b string) bool { return hmac.Equal([]byte(a), []byte(b)) }

// framed writes fields so that no two lists of them look alike.
func framed(fields ...string) []byte {
	var out []byte
	for _, f := range fields {
		out = binary.BigEndian.AppendUint64(out, uint64(len(f)))
		out = append(out, f...)
	}
	return out
}

func sum(key []byte, parts ...[]byte) []byte {
	h := hmac.New(sha256.New, key)
	for _, p := range parts {
		h.Write(p)
	}
	return h.Sum(nil)
}
