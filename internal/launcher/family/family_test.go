// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package family_test

import (
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"toolgate.dev/toolgate/internal/launcher/family"
)

// actAs makes this test's binary a process of a family.
const actAs = "FAMILY_TEST_ACT_AS"

func TestMain(m *testing.M) {
	switch os.Getenv(actAs) {
	case "":
		os.Exit(m.Run())
	case "stayer":
		<-time.After(time.Hour)
	case "leaver":
		// What it starts leaves its session, and then loses its parent.
		if err := command("stayer").Start(); err != nil {
			os.Exit(1)
		}
	}
}

// command runs this binary with the environment of this process, which a child's mark is in.
func command(role string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), actAs+"="+role)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}

func start(t *testing.T, role, mark string) *family.Child {
	t.Helper()
	if err := family.Join(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(family.Leave)
	cmd := command(role)
	cmd.Env = append(cmd.Env, mark)
	c, err := family.Start(cmd, family.Traces{Mark: mark})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Kill() })
	return c
}

// left are the children of this process, zombies included.
func left() []family.Process {
	return slices.DeleteFunc(family.Processes(), func(p family.Process) bool { return p.Parent != os.Getpid() })
}

func TestADescendantWithoutParentsIsFoundByItsMark(t *testing.T) {
	c := start(t, "leaver", "MARK=one")
	other := start(t, "stayer", "MARK=two")
	if state := c.Wait(); !state.Success() {
		t.Fatal(state)
	}
	if c.Gone() {
		t.Fatal("what the child left behind is not known as its own")
	}
	if pids := c.Kill(); len(pids) != 0 || !c.Gone() {
		t.Errorf("%v live on", pids)
	}
	if other.Gone() {
		t.Error("another child was ended with it")
	}
	if pids := other.Kill(); len(pids) != 0 {
		t.Errorf("%v live on", pids)
	}
	if state := other.Wait(); state.Sys().(syscall.WaitStatus).Signal() != unix.SIGKILL {
		t.Errorf("the child was ended by %v", state)
	}
	if processes := left(); len(processes) != 0 {
		t.Errorf("not reaped: %+v", processes)
	}
}

func TestASignalReachesTheWholeChild(t *testing.T) {
	c := start(t, "stayer", "MARK=three")
	c.Signal(unix.SIGTERM)
	if state := c.Wait(); state.Sys().(syscall.WaitStatus).Signal() != unix.SIGTERM {
		t.Errorf("the child was ended by %v", state)
	}
	if !c.Gone() {
		t.Error("something of it lives on")
	}
}

func TestACommandThatCannotStartLeavesNoChild(t *testing.T) {
	if err := family.Join(); err != nil {
		t.Fatal(err)
	}
	defer family.Leave()
	if c, err := family.Start(exec.Command("/not/there"), family.Traces{}); err == nil {
		t.Errorf("started %d", c.PID())
	}
}
