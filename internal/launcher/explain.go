// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package launcher

import (
	"errors"
	"fmt"
	"os"
	"os/exec"

	"golang.org/x/sys/unix"
)

// explain says why the command could not be started, and the way out.
func explain(o ServeOptions, err error) *SpawnError {
	if info, statErr := os.Stat(o.Dir); o.Dir != "" && (statErr != nil || !info.IsDir()) {
		return &SpawnError{fmt.Sprintf("the working directory %q is not there: correct it, or make it in the image", o.Dir)}
	}
	return &SpawnError{fmt.Sprintf("command %q %s", o.Command[0], whyNot(o.Command[0], err))}
}

func whyNot(command string, err error) string {
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return "was not found in PATH: name a command that the image holds, or its full path"
	case errors.Is(err, exec.ErrDot):
		return "was found in the working directory only: write ./ before it to run that one"
	case errors.Is(err, os.ErrNotExist):
		if _, statErr := os.Stat(command); statErr == nil {
			return "is there, but the interpreter or loader that it names is not: use an image that holds it"
		}
		return "does not exist: name a command that the image holds"
	case errors.Is(err, os.ErrPermission):
		return fmt.Sprintf("may not be executed by user %d: set its execute bit, run as another user, or use a volume without noexec", os.Getuid())
	case errors.Is(err, unix.ENOEXEC):
		return "is no program for this machine: build it for this architecture, or start a script with a #! line"
	case errors.Is(err, unix.E2BIG):
		return "has more arguments and environment than the kernel takes: shorten them"
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.ENOMEM):
		return fmt.Sprintf("could not be started for lack of processes or memory (%v): end some, or raise the limits", err)
	default:
		return fmt.Sprintf("could not be started: %v", err)
	}
}
