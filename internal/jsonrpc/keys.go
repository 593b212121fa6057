// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"bytes"
	"hash/maphash"
)

// keyStack holds the keys of every object that is open, innermost last, and finds duplicates in the innermost. It is made
// of offsets, not slices: a hostile message is all keys, and must not take many times its size.
type keyStack struct {
	data  []byte   // the input, in which keys without escapes lie
	text  []byte   // keys that are not as in the input: unescaped, or folded
	refs  []keyRef // the keys
	table []uint32 // for large objects: open addressing, a power of two long; index of a ref plus one, 0 is free
}

// keyRef is where one key stands.
type keyRef struct {
	at         uint32 // of its opening quote in data
	start, end uint32 // of its characters, in text or in data
	inText     bool
}

// mark is the height of a keyStack when an object was opened.
type mark struct{ refs, text int }

func (k *keyStack) mark() mark { return mark{len(k.refs), len(k.text)} }

// push adds a key whose characters are those of the input from start to end.
func (k *keyStack) push(at, start, end int) {
	k.refs = append(k.refs, keyRef{at: uint32(at), start: uint32(start), end: uint32(end)})
}

// pushText adds a key whose characters are those of text from start on.
func (k *keyStack) pushText(at, start int) {
	k.refs = append(k.refs, keyRef{at: uint32(at), start: uint32(start), end: uint32(len(k.text)), inText: true})
}

// cut closes the object that was opened at m.
func (k *keyStack) cut(m mark) {
	k.refs, k.text = k.refs[:m.refs], k.text[:m.text]
}

func (k *keyStack) key(r keyRef) []byte {
	if r.inText {
		return k.text[r.start:r.end]
	}
	return k.data[r.start:r.end]
}

// maxPooledKeys bounds the memory that an unusual input leaves behind in a pool.
const maxPooledKeys = 1 << 12

// reset makes the stack ready for another input and lets go of the last one.
func (k *keyStack) reset(data []byte) {
	k.data, k.text, k.refs = data, k.text[:0], k.refs[:0]
	if cap(k.refs) > maxPooledKeys || cap(k.text) > 64*maxPooledKeys || cap(k.table) > 4*maxPooledKeys {
		*k = keyStack{data: data}
	}
}

// smallObject is the number of members up to which comparing all pairs is faster than hashing.
const smallObject = 12

// duplicate returns two refs with one key in the object that was opened at m: the second in its order, and the one before.
func (k *keyStack) duplicate(m mark) (first, second keyRef, found bool) {
	refs := k.refs[m.refs:]
	if len(refs) > smallObject {
		return k.hashed(refs)
	}
	for j := 1; j < len(refs); j++ {
		key := k.key(refs[j])
		for i := range j {
			if bytes.Equal(k.key(refs[i]), key) {
				return refs[i], refs[j], true
			}
		}
	}
	return keyRef{}, keyRef{}, false
}

// seed is of this process alone, so that nobody can prepare keys that collide.
var seed = maphash.MakeSeed()

func (k *keyStack) hashed(refs []keyRef) (first, second keyRef, found bool) {
	size := 32
	for size < 2*len(refs) {
		size *= 2
	}
	if cap(k.table) < size {
		k.table = make([]uint32, size)
	}
	table := k.table[:size]
	clear(table)
	for j, ref := range refs {
		key := k.key(ref)
		slot := maphash.Bytes(seed, key) & uint64(size-1)
		for table[slot] != 0 {
			if other := refs[table[slot]-1]; bytes.Equal(k.key(other), key) {
				return other, ref, true
			}
			slot = (slot + 1) & uint64(size-1)
		}
		table[slot] = uint32(j + 1)
	}
	return keyRef{}, keyRef{}, false
}
