// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"slices"

	"toolgate.dev/toolgate/internal/registry"
)

// Count is how many shards a document can have.
const Count = 8

// RootFile is the file of a root, beside that of a document of one piece (registry.FileName).
const RootFile = "registry.v2.json"

// ObjectBytes is the largest object that a part of a document may make, as JSON, the way it passes over the API: a third of
// what etcd takes (1.5 MiB), so that no write is ever refused for its size.
const ObjectBytes = 512 << 10

// How ObjectBytes is shared out. Texts count as they are written in JSON, compressed bytes in base64.
const (
	// metadataBytes are left to an object's metadata.
	metadataBytes = 16 << 10
	// shardBytes is the most for a shard.
	shardBytes = ObjectBytes - metadataBytes
	// rootBytes is the most for a root, which shares its object with a document of one piece.
	rootBytes = 96 << 10
	// wholeBytes is the most for a document of one piece.
	wholeBytes = shardBytes - rootBytes
	// splitBytes is from where on a document is cut, and mergeBytes up to where one that is cut becomes one again. They lie
	// apart, so that one tool that comes and goes does not rewrite everything each time.
	splitBytes = 256 << 10
	mergeBytes = 192 << 10
)

// plainBytes is the most that a shard may hold before compression; a reader takes no more, whatever it decompresses to.
const plainBytes = 4 << 20

// Files are the parts of a document by their names, as a dispatcher's volume shows them.
type Files map[string][]byte

// Load gives the content of one file; where there is none, an error that is fs.ErrNotExist.
type Load func(name string) ([]byte, error)

// Load gives one of the files.
func (f Files) Load(name string) ([]byte, error) {
	data, ok := f[name]
	if !ok {
		return nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	return data, nil
}

// Root gives the file that a document begins with: the root of one in shards where there is one, else the one of one piece.
func Root(load Load) ([]byte, error) {
	data, err := load(RootFile)
	if errors.Is(err, fs.ErrNotExist) {
		return load(registry.FileName)
	}
	return data, err
}

// File is the name of a shard's file.
func File(shard int) string { return fmt.Sprintf("shard-%d.json.gz", shard) }

// Names are the names of all shards' files.
func Names() []string {
	out := make([]string, 0, Count)
	for i := range Count {
		out = append(out, File(i))
	}
	return out
}

// Of says which of count shards holds what has this name.
func Of(name string, count int) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // it never fails
	return int(h.Sum32() % uint32(count))
}

// textSize is how long a text is as a JSON string.
func textSize(text []byte) int {
	data, err := json.Marshal(string(text))
	if err != nil {
		return ObjectBytes + 1 // no text can be so; what can't be measured does not fit
	}
	return len(data)
}

// binarySize is how long bytes are in JSON.
func binarySize(data []byte) int { return base64.StdEncoding.EncodedLen(len(data)) + len(`""`) }

// FitsText says whether a text that others keep in an object may stay in one piece; split says that it is cut now.
func FitsText(text []byte, split bool) bool {
	limit := splitBytes
	if split {
		limit = mergeBytes
	}
	return textSize(text) <= limit
}

// FitsBinary says whether a compressed text can be an object of its own, and be read again.
func FitsBinary(plain, data []byte) bool {
	return len(plain) <= plainBytes && binarySize(data) <= shardBytes
}

// known says whether a root may name the file.
func known(file string) bool { return slices.Contains(Names(), file) }
