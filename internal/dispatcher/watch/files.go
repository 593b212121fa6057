// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/registry/shard"
)

// Read reads the document at a path, as a dispatcher with that path would, and gives its digest.
func Read(path string) (doc *registry.Document, digest string, err error) {
	load := loadFrom(path)
	first, err := firstOf(path, load)
	if err != nil {
		return nil, "", err
	}
	doc, err = shard.Decode(first, load)
	return doc, registry.Digest(first), err
}

// directory holds the files of the document at a path.
func directory(path string) string {
	if isDirectory(path) {
		return path
	}
	return filepath.Dir(path)
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// firstOf is the file that the path names, or the first one of the directory that it names.
func firstOf(path string, load shard.Load) ([]byte, error) {
	if isDirectory(path) {
		return shard.Root(load)
	}
	return readFile(path)
}

// newest is the symlink that the kubelet swaps. A name of a new file becomes visible in the directory itself only after that, one by one.
const newest = "..data"

// loadFrom reads the files that lie at, or beside, the path: all of them as the kubelet has put them there at once.
func loadFrom(path string) shard.Load {
	dir := directory(path)
	at, err := filepath.EvalSymlinks(filepath.Join(dir, newest))
	if err != nil {
		at = dir
	}
	return func(name string) ([]byte, error) {
		data, err := readFile(filepath.Join(at, name))
		if errors.Is(err, fs.ErrNotExist) && !isDirectory(at) {
			return readFile(filepath.Join(dir, name)) // they have been replaced meanwhile
		}
		return data, err
	}
}

// readFile never waits: opened like this, a pipe without a writer does not hold the reader.
func readFile(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("registry document: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(fmt.Errorf("registry document: %s is no regular file", path), err)
	}
	data, err := io.ReadAll(io.LimitReader(f, registry.MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("registry document: %w", err)
	}
	return data, nil
}
