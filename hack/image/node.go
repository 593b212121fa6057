// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// libraryPattern finds the files in the output of ldd: "name => /file (0x…)"
// and, for the loader, "/file (0x…)".
var libraryPattern = regexp.MustCompile(`(?m)(/\S+) \(0x`)

// nodeTree makes the layer that all npm images share: node and env from this
// machine, the libraries both need, and the users. The launchers that npm
// packages install begin with "#!/usr/bin/env node", hence env; there is no
// shell.
func nodeTree(ctx context.Context, user string) (tree, error) {
	t := users()
	if user != nonRoot {
		t.file("etc/passwd", 0o644, passwd+fmt.Sprintf("server:x:%[1]s:%[1]s:server:/tmp:/sbin/nologin\n", user))
		t.file("etc/group", 0o644, group+fmt.Sprintf("server:x:%s:\n", user))
	}
	if err := t.copy(bundle[1:], bundle); err != nil {
		return nil, fmt.Errorf("%w; install the package ca-certificates", err)
	}
	for _, program := range []string{"node", "env"} {
		file, err := exec.LookPath(program)
		if err != nil {
			return nil, fmt.Errorf("the image is made of this machine's %s: %w", program, err)
		}
		if file, err = filepath.EvalSymlinks(file); err != nil {
			return nil, fmt.Errorf("finding %s: %w", program, err)
		}
		if err := t.copy("usr/bin/"+program, file); err != nil {
			return nil, err
		}
		if err := t.libraries(ctx, file); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// libraries adds the shared libraries that binary needs, where it expects them.
func (t tree) libraries(ctx context.Context, binary string) error {
	out, err := exec.CommandContext(ctx, "ldd", binary).CombinedOutput()
	if err != nil {
		if strings.Contains(string(out), "not a dynamic executable") {
			return nil
		}
		return fmt.Errorf("listing the libraries of %s: %w: %s", binary, err, out)
	}
	if strings.Contains(string(out), "not found") {
		return fmt.Errorf("%s does not find all of its libraries:\n%s", binary, out)
	}
	for _, match := range libraryPattern.FindAllStringSubmatch(string(out), -1) {
		if err := t.copy(strings.TrimPrefix(match[1], "/"), match[1]); err != nil {
			return err
		}
	}
	return nil
}

// cacheKey names a folder after all that decides what is installed in it.
func cacheKey(pkg, version string, files map[string][]byte) string {
	hash := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(hash, "%s %d\n", name, len(files[name]))
		hash.Write(files[name])
	}
	return fmt.Sprintf("%s-%s-%x", strings.NewReplacer("@", "", "/", "-").Replace(pkg), version, hash.Sum(nil)[:6])
}
