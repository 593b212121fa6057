// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// epoch is the time of every file and image, so that equal inputs give equal
// digests.
var epoch = time.Unix(0, 0).UTC()

// entry is one file, folder or symbolic link of a layer.
type entry struct {
	kind   byte // tar.TypeReg, tar.TypeDir or tar.TypeSymlink
	mode   int64
	target string // of a symbolic link
	source string // the file that holds the content, where content is nil
	bytes  []byte
}

// tree is the content of one layer by path, without a leading slash. All of it
// belongs to root: whoever the image runs as can read it and change nothing.
type tree map[string]entry

// dir adds a folder with the permissions mode.
func (t tree) dir(name string, mode int64) { t.put(name, entry{kind: tar.TypeDir, mode: mode}) }

// file adds a file with the given content.
func (t tree) file(name string, mode int64, content string) {
	t.put(name, entry{kind: tar.TypeReg, mode: mode, bytes: []byte(content)})
}

// copy adds the file at source, following symbolic links.
func (t tree) copy(name, source string) error {
	info, err := os.Stat(source)
	if err != nil {
		return fmt.Errorf("adding /%s: %w", name, err)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("adding /%s: %s is not a file", name, source)
	}
	t.put(name, entry{kind: tar.TypeReg, mode: mode(info), source: source})
	return nil
}

// copyAll adds the folder source with all that is in it, but for the files of
// which skip says so. Symbolic links stay links; devices, pipes and sockets
// are an error.
func (t tree) copyAll(name, source string, skip func(path string) bool) error {
	return filepath.WalkDir(source, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(source, p)
		if err != nil {
			return err
		}
		to := path.Join(name, filepath.ToSlash(relative))
		switch {
		case d.IsDir():
			t.dir(to, 0o755)
		case skip(p):
		case info.Mode().IsRegular():
			t.put(to, entry{kind: tar.TypeReg, mode: mode(info), source: p})
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(p)
			if err != nil {
				return err
			}
			t.put(to, entry{kind: tar.TypeSymlink, mode: 0o777, target: target})
		default:
			return fmt.Errorf("adding %s: neither a file nor a folder nor a link", p)
		}
		return nil
	})
}

// put adds an entry and the folders above it.
func (t tree) put(name string, e entry) {
	t[name] = e
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if _, ok := t[dir]; !ok {
			t[dir] = entry{kind: tar.TypeDir, mode: 0o755}
		}
	}
}

// mode keeps of a file's permissions only whether it can be run.
func mode(info fs.FileInfo) int64 {
	if info.Mode()&0o111 != 0 {
		return 0o755
	}
	return 0o644
}

// layer makes a layer of t. It is not compressed: see README.md for what that
// saves at import.
func (t tree) layer() (v1.Layer, error) {
	var buffer bytes.Buffer
	w := tar.NewWriter(&buffer)
	names := make([]string, 0, len(t))
	for name := range t {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if err := write(w, name, t[name]); err != nil {
			return nil, fmt.Errorf("writing /%s: %w", name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("ending the layer: %w", err)
	}
	return static.NewLayer(buffer.Bytes(), types.OCIUncompressedLayer), nil
}

// write adds e to the archive, as root's and of the epoch.
func write(w *tar.Writer, name string, e entry) error {
	content, err := e.open()
	if err != nil {
		return err
	}
	defer content.Close()
	header := tar.Header{Typeflag: e.kind, Name: name, Mode: e.mode, Linkname: e.target, ModTime: epoch, Format: tar.FormatPAX}
	if e.kind == tar.TypeDir {
		header.Name += "/"
	}
	if f, ok := content.(*os.File); ok {
		info, err := f.Stat()
		if err != nil {
			return err
		}
		header.Size = info.Size()
	} else {
		header.Size = int64(len(e.bytes))
	}
	if err := w.WriteHeader(&header); err != nil {
		return err
	}
	_, err = io.Copy(w, content)
	return err
}

func (e entry) open() (io.ReadCloser, error) {
	if e.source != "" {
		return os.Open(e.source)
	}
	return io.NopCloser(bytes.NewReader(e.bytes)), nil
}
