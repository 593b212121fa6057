// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"bytes"
	"hash/maphash"
)

// keySet finds duplicate keys. Its table is reused from object to object.
type keySet struct {
	table []int32 // open addressing; index of a member plus one, 0 is free
}

// smallObject is the number of members up to which comparing all pairs is faster than hashing.
const smallObject = 12

// seed is of this process alone, so that nobody can prepare keys that collide.
var seed = maphash.MakeSeed()

// duplicate returns the indices of two members with one key: the second in its order, and the one before it.
func (k *keySet) duplicate(members []member) (first, second int, found bool) {
	if len(members) > smallObject {
		return k.hashed(members)
	}
	for j := 1; j < len(members); j++ {
		for i := range j {
			if bytes.Equal(members[i].key, members[j].key) {
				return i, j, true
			}
		}
	}
	return 0, 0, false
}

func (k *keySet) hashed(members []member) (first, second int, found bool) {
	size := 4 * smallObject
	for size < 2*len(members) {
		size *= 2
	}
	if cap(k.table) < size {
		k.table = make([]int32, size)
	}
	table := k.table[:size]
	clear(table)
	if size > maxPooledMembers {
		k.table = nil
	}
	for j := range members {
		key := members[j].key
		slot := maphash.Bytes(seed, key) % uint64(size)
		for table[slot] != 0 {
			if i := int(table[slot]) - 1; bytes.Equal(members[i].key, key) {
				return i, j, true
			}
			slot = (slot + 1) % uint64(size)
		}
		table[slot] = int32(j + 1)
	}
	return 0, 0, false
}
