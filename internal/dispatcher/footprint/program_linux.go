// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package footprint

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// releaseProgram takes the pages of the program's own file out of the process: most of them were read by its start alone.
// What is needed comes back page by page, out of the system's cache, without being read again.
func releaseProgram() error {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return err
	}
	maps, err := os.Open("/proc/self/smaps")
	if err != nil {
		return err
	}
	defer maps.Close() //nolint:errcheck // it was only read
	regions, err := unwritten(maps, program)
	if err != nil {
		return err
	}
	for _, r := range regions {
		if _, _, errno := unix.Syscall(unix.SYS_MADVISE, r.start, r.end-r.start, unix.MADV_DONTNEED); errno != 0 {
			err = errors.Join(err, fmt.Errorf("madvise: %w", errno))
		}
	}
	return err
}

type region struct{ start, end uintptr }

// unwritten finds the regions of a file, in a text as /proc/PID/smaps has it (proc_pid_smaps(5)), that cannot be written to
// and have no page that differs from the file: a page that does would lose what was written.
func unwritten(maps io.Reader, file string) ([]region, error) {
	var found []region
	var current region
	ours := false
	lines := bufio.NewScanner(maps)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		switch {
		case len(fields) == 3 && fields[0] == "Anonymous:":
			if ours && fields[1] == "0" {
				found = append(found, current)
			}
			ours = false
		case len(fields) >= 5 && !strings.HasSuffix(fields[0], ":"):
			if _, err := fmt.Sscanf(fields[0], "%x-%x", &current.start, &current.end); err != nil {
				return nil, fmt.Errorf("a line of smaps, %q: %w", lines.Text(), err)
			}
			ours = len(fields) == 6 && fields[5] == file && strings.HasPrefix(fields[1], "r-") && strings.HasSuffix(fields[1], "p")
		}
	}
	return found, lines.Err()
}
