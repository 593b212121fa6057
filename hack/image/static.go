// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"debug/elf"
	"fmt"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

const (
	// nonRoot is the user of images that need no particular one.
	nonRoot = "65532"
	// bundle is where Debian and Go look for the trusted certificates.
	bundle = "/etc/ssl/certs/ca-certificates.crt"
	passwd = "root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/tmp:/sbin/nologin\n"
	group  = "root:x:0:\nnonroot:x:65532:\n"
)

// toolgateImage makes the project's own image of the binaries in bin. It is
// the image that the Dockerfile describes.
func toolgateImage(bin string) (v1.Image, error) {
	t := users()
	for _, binary := range []string{"manager", "dispatcher"} {
		if err := t.static(binary, filepath.Join(bin, binary)); err != nil {
			return nil, err
		}
	}
	if err := t.copy(bundle[1:], bundle); err != nil {
		return nil, fmt.Errorf("%w; install the package ca-certificates", err)
	}
	return newImage(v1.Config{Entrypoint: []string{"/manager"}, User: nonRoot + ":" + nonRoot, WorkingDir: "/"}, t)
}

// programImage makes an image of one static binary, run as root in its pod:
// the cluster's own pods need no more.
func programImage(binary string) (v1.Image, error) {
	t, name := tree{}, filepath.Base(binary)
	if err := t.static(name, binary); err != nil {
		return nil, err
	}
	return newImage(v1.Config{Entrypoint: []string{"/" + name}}, t)
}

// users makes a tree with the files that name the users, and /tmp.
func users() tree {
	t := tree{}
	t.dir("tmp", 0o1777)
	t.file("etc/passwd", 0o644, passwd)
	t.file("etc/group", 0o644, group)
	t.file("etc/nsswitch.conf", 0o644, "hosts: files dns\n")
	return t
}

// static adds a binary that must not need a loader, since the image has none.
func (t tree) static(name, source string) error {
	f, err := elf.Open(source)
	if err != nil {
		return fmt.Errorf("reading the binary %s: %w", source, err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return fmt.Errorf("%s is linked dynamically and would not start in the image: build it with CGO_ENABLED=0", source)
		}
	}
	return t.copy(name, source)
}
