// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package launcher

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// binaryName is the name under which Install puts the binary into a directory.
const binaryName = "dispatcher"

// Install copies the running binary to dst: a file's path, or a directory that
// exists, where it is named "dispatcher". Whoever looks sees the old file or
// the whole new one, readable and executable by all and writable by nobody.
func Install(dst string) error {
	if info, err := os.Stat(dst); err == nil && info.IsDir() {
		dst = filepath.Join(dst, binaryName)
	}
	if err := installFrom("/proc/self/exe", dst); err != nil {
		return fmt.Errorf("installing to %s: %w", dst, err)
	}
	return nil
}

func installFrom(src, dst string) (err error) {
	in, err := os.Open(src)
	if err != nil {
		return err
	}
	defer closeAll(in)
	out, err := os.CreateTemp(filepath.Dir(dst), "."+binaryName+"-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			closeAll(out)
			_ = os.Remove(out.Name()) // the error at hand says more
		}
	}()
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	if err := out.Chmod(0o555); err != nil {
		return err
	}
	// Whole before it has its name, also after a crash of the node.
	if err := out.Sync(); err != nil {
		return err
	}
	if err := out.Close(); err != nil {
		return err
	}
	return os.Rename(out.Name(), dst)
}
