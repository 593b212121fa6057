// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// build runs the command and returns the path of the archive it wrote.
func build(t *testing.T, args ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "image.tar")
	if err := run(context.Background(), append(args, "--out", out), io.Discard); err != nil {
		t.Fatalf("image %s: %v", strings.Join(args, " "), err)
	}
	return out
}

// open unpacks an archive, checks it and returns the image with the name it goes
// by. The library's own check of layers takes all of them for compressed, so
// their digests are checked here.
func open(t *testing.T, archive string) (v1.Image, string) {
	t.Helper()
	dir := t.TempDir()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for name, content := range untar(t, f) {
		file := filepath.Join(dir, name)
		if sum := fmt.Sprintf("%x", sha256.Sum256(content)); strings.HasPrefix(name, "blobs/") && filepath.Base(name) != sum {
			t.Errorf("%s has the digest %s", name, sum)
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, content, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatalf("reading the archive as an OCI layout: %v", err)
	}
	if err := validate.Index(index, validate.Fast); err != nil {
		t.Errorf("the archive is not a valid OCI layout: %v", err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	image, err := index.Image(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	return image, manifest.Manifests[0].Annotations["io.containerd.image.name"]
}

// untar returns the regular files of an archive.
func untar(t *testing.T, r io.Reader) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for tr := tar.NewReader(r); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		if files[h.Name], err = io.ReadAll(tr); err != nil {
			t.Fatal(err)
		}
	}
}

// headers returns what the layers of an image say of each path, in order.
func headers(t *testing.T, image v1.Image) []*tar.Header {
	t.Helper()
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	var all []*tar.Header
	for _, l := range layers {
		content, err := l.Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		for tr := tar.NewReader(content); ; {
			h, err := tr.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, h)
		}
	}
	return all
}

func config(t *testing.T, image v1.Image) v1.Config {
	t.Helper()
	file, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	return file.Config
}

// writeELF writes the smallest file that reads as a binary without a loader.
func writeELF(t *testing.T, file string) {
	t.Helper()
	header := elf.Header64{Type: uint16(elf.ET_EXEC), Machine: uint16(elf.EM_X86_64), Version: 1, Ehsize: 64, Phentsize: 56, Shentsize: 64}
	copy(header.Ident[:], elf.ELFMAG)
	header.Ident[elf.EI_CLASS], header.Ident[elf.EI_DATA], header.Ident[elf.EI_VERSION] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), 1
	var b bytes.Buffer
	if err := binary.Write(&b, binary.LittleEndian, header); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b.Bytes(), 0o755); err != nil {
		t.Fatal(err)
	}
}

func TestToolgateImage(t *testing.T) {
	bin := t.TempDir()
	writeELF(t, filepath.Join(bin, "manager"))
	writeELF(t, filepath.Join(bin, "dispatcher"))
	archive := build(t, "toolgate", "--tag", "toolgate.dev/toolgate:dev", "--bin", bin)
	image, name := open(t, archive)
	if name != "toolgate.dev/toolgate:dev" {
		t.Errorf("name is %q", name)
	}
	got := config(t, image)
	if !slices.Equal(got.Entrypoint, []string{"/manager"}) || got.User != "65532:65532" {
		t.Errorf("entrypoint %q, user %q; want /manager, 65532:65532", got.Entrypoint, got.User)
	}
	var paths []string
	for _, h := range headers(t, image) {
		paths = append(paths, h.Name)
		if h.Uid != 0 || h.Gid != 0 || !h.ModTime.Equal(epoch) {
			t.Errorf("%s: owner %d:%d, time %v; want root and the epoch", h.Name, h.Uid, h.Gid, h.ModTime)
		}
	}
	want := []string{"dispatcher", "etc/", "etc/group", "etc/nsswitch.conf", "etc/passwd", "etc/ssl/", "etc/ssl/certs/", "etc/ssl/certs/ca-certificates.crt", "manager", "tmp/"}
	if !slices.Equal(paths, want) {
		t.Errorf("layer holds %q\nwant %q", paths, want)
	}
	again, err := os.ReadFile(build(t, "toolgate", "--tag", "toolgate.dev/toolgate:dev", "--bin", bin))
	if err != nil {
		t.Fatal(err)
	}
	if first, err := os.ReadFile(archive); err != nil || !bytes.Equal(first, again) {
		t.Errorf("two builds from the same binaries differ (%v)", err)
	}
}

func TestRefusals(t *testing.T) {
	dynamic := "/usr/bin/env"
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"no kind":                        {nil, "which image?"},
		"an unknown kind":                {[]string{"vm"}, `no image "vm"`},
		"no archive to write":            {[]string{"program", "--tag", "a.test/b:1"}, "want --out FILE"},
		"a name without a registry":      {[]string{"program", "--out", "x", "--tag", "everything"}, "give it whole"},
		"a binary that needs a loader":   {[]string{"program", "--out", "x", "--tag", "a.test/b:1", "--binary", dynamic}, "CGO_ENABLED=0"},
		"binaries that are not there":    {[]string{"toolgate", "--out", "x", "--tag", "a.test/b:1", "--bin", t.TempDir()}, "manager"},
		"a package without a version":    {[]string{"npm", "--out", "x", "--tag", "a.test/b:1", "--package", "@scope/name"}, "exact version"},
		"a package with a range":         {[]string{"npm", "--out", "x", "--tag", "a.test/b:1", "--package", "name@^1.2.3"}, "exact version"},
		"a package that is a folder":     {[]string{"npm", "--out", "x", "--tag", "a.test/b:1", "--package", "../x@1.2.3"}, "exact version"},
		"a user by name":                 {[]string{"npm", "--out", "x", "--tag", "a.test/b:1", "--package", "n@1.0.0", "--user", "node"}, "want a number"},
		"something that is not a flag":   {[]string{"program", "--out", "x", "--tag", "a.test/b:1", "y"}, "flags only"},
		"a lock file that is not there":  {[]string{"npm", "--out", "x", "--tag", "a.test/b:1", "--package", "n@1.0.0", "--lock", "none.json"}, "reading --lock"},
		"a binary that is no ELF binary": {[]string{"program", "--out", "x", "--tag", "a.test/b:1", "--binary", "go.mod"}, "reading the binary"},
	} {
		t.Run(name, func(t *testing.T) {
			err := run(context.Background(), tc.args, io.Discard)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want an error with %q", err, tc.want)
			}
		})
	}
}
