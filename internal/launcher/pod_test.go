// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package launcher

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"toolgate.dev/toolgate/internal/launcher/family"
)

// pod is a launcher in a process of its own, as in a server's container.
type pod struct {
	socket string
	pid    int // of the launcher, seen from here
	ended  chan struct{}
	log    *syncBuffer
}

// podOptions say how the launcher runs.
type podOptions struct {
	child string // the mode of its children
	init  bool   // as PID 1 of a namespace; needs root
	uid   int    // as this user; another than ours needs root
}

// startPod starts a launcher whose dispatcher is this process.
func startPod(t *testing.T, o podOptions) *pod {
	t.Helper()
	if o.init || o.uid != os.Getuid() {
		if os.Getuid() != 0 {
			t.Skip("making a PID namespace and changing users needs root: run the tests as root to see this one")
		}
		for _, tool := range []string{"unshare", "setpriv"} {
			if _, err := exec.LookPath(tool); err != nil {
				t.Skipf("%s is missing: install util-linux", tool)
			}
		}
	}
	dir, err := os.MkdirTemp("", "launcher")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777); err != nil { // as an emptyDir
		t.Fatal(err)
	}
	if err := Install(dir); err != nil {
		t.Fatal(err)
	}
	p := &pod{socket: dir + "/l.sock", ended: make(chan struct{}), log: &syncBuffer{}}
	cmd := exec.Command(dir + "/" + binaryName)
	if o.uid != os.Getuid() {
		cmd.Args = append([]string{"setpriv", fmt.Sprint("--reuid=", o.uid), fmt.Sprint("--regid=", o.uid), "--clear-groups", "--"}, cmd.Args...)
	}
	if o.init {
		cmd.Args = append([]string{"unshare", "--pid", "--fork", "--mount-proc", "--"}, cmd.Args...)
	}
	cmd = exec.Command(cmd.Args[0], cmd.Args[1:]...)
	cmd.Env = append(os.Environ(), modeVariable+"=serve", childVariable+"="+o.child, socketVariable+"="+p.socket,
		fmt.Sprint(uidVariable, "=", os.Getuid()))
	cmd.Stderr = p.log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		_ = cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = unix.Kill(p.pid, unix.SIGKILL) // and with PID 1 all of its namespace
		<-p.ended
		if t.Failed() {
			t.Logf("the launcher's log:\n%s", p.log)
		}
	})
	p.pid = cmd.Process.Pid
	eventually(t, "the launcher listens", func() bool { _, err := os.Stat(p.socket); return err == nil })
	if o.init {
		p.pid = onlyChildOf(t, cmd.Process.Pid)
	}
	return p
}

func onlyChildOf(t *testing.T, parent int) int {
	t.Helper()
	for _, p := range family.Processes() {
		if p.Parent == parent {
			return p.PID
		}
	}
	t.Fatalf("process %d has no child", parent)
	return 0
}

func (p *pod) dial(t *testing.T) *Client {
	t.Helper()
	var c *Client
	eventually(t, "the launcher answers", func() bool {
		var err error
		c, err = Dial(t.Context(), p.socket)
		return err == nil
	})
	return c
}

// inside lists the processes of the launcher's PID namespace, zombies included,
// without the launcher, by their pids in there.
func (p *pod) inside(t *testing.T) []int {
	t.Helper()
	space := func(pid int) string {
		s, _ := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", pid))
		return s
	}
	own := space(p.pid)
	if own == "" {
		t.Fatal("the launcher has gone")
	}
	var found []int
	for _, q := range family.Processes() {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", q.PID))
		if err != nil || q.PID == p.pid || space(q.PID) != own {
			continue
		}
		for line := range strings.Lines(string(status)) {
			if ids, ok := strings.CutPrefix(line, "NSpid:"); ok {
				f := strings.Fields(ids)
				pid, _ := strconv.Atoi(f[len(f)-1])
				found = append(found, pid)
			}
		}
	}
	return found
}

const serverUID = 10001

func TestInitEndsOneChildOfTwo(t *testing.T) {
	pod := startPod(t, podOptions{child: "tree", init: true, uid: serverUID})
	c := pod.dial(t)
	defer mustClose(t, c)
	first, second := spawn(t, c), spawn(t, c)
	defer mustClose(t, second)
	readPIDs(t, first)
	want := append(readPIDs(t, second), second.PID())
	mustClose(t, first)
	_ = waitExit(t, first)
	eventually(t, "only the second child's processes are left", func() bool { return len(pod.inside(t)) == len(want) })
	if got := say(t, second, "hello"); got != "hello" {
		t.Errorf("the second child answered %q", got)
	}
}

func TestInitEndsStraysWithTheLastChild(t *testing.T) {
	pod := startPod(t, podOptions{child: "stray", init: true, uid: serverUID})
	c := pod.dial(t)
	defer mustClose(t, c)
	p := spawn(t, c)
	readLine(t, p)
	mustClose(t, p)
	eventually(t, "nothing is left", func() bool { return len(pod.inside(t)) == 0 })
}

func TestInitKillsAllWhenControlIsLost(t *testing.T) {
	pod := startPod(t, podOptions{child: "tree", init: true, uid: serverUID})
	c := pod.dial(t)
	p := spawn(t, c)
	defer mustClose(t, p)
	readPIDs(t, p)
	if n := len(pod.inside(t)); n != 5 {
		t.Fatalf("%d processes, wanted 5", n)
	}
	closeAll(c.control)
	eventually(t, "nothing is left", func() bool { return len(pod.inside(t)) == 0 })
	again := pod.dial(t)
	defer mustClose(t, again)
	next := spawn(t, again)
	defer mustClose(t, next)
	readPIDs(t, next)
}

func TestInitKillsWhatEnteredItsContainer(t *testing.T) {
	pod := startPod(t, podOptions{child: "echo", init: true, uid: os.Getuid()})
	c := pod.dial(t)
	if _, err := exec.LookPath("nsenter"); err != nil {
		t.Skip("nsenter is missing: install util-linux")
	}
	guest := exec.Command("nsenter", "--pid", "--target", strconv.Itoa(pod.pid), "--", "sleep", "3600")
	if err := guest.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = guest.Wait()
	}()
	eventually(t, "the guest is in", func() bool { return len(pod.inside(t)) == 1 })
	closeAll(c.control)
	<-ended
	eventually(t, "nothing is left", func() bool { return len(pod.inside(t)) == 0 })
}

func TestInitReapsOrphans(t *testing.T) {
	pod := startPod(t, podOptions{child: "orphan-flow", init: true, uid: serverUID})
	c := pod.dial(t)
	defer mustClose(t, c)
	p := spawn(t, c)
	defer mustClose(t, p)
	readLine(t, p)
	eventually(t, "only the child is left", func() bool { return len(pod.inside(t)) == 1 })
}

func TestInitRefusesItsOwnContainer(t *testing.T) {
	// The same user on both sides: only the namespace tells them apart.
	pod := startPod(t, podOptions{child: "intruder", init: true, uid: os.Getuid()})
	c := pod.dial(t)
	defer mustClose(t, c)
	p := spawn(t, c)
	defer mustClose(t, p)
	if got := readLine(t, p); !strings.Contains(got, "closed the connection") {
		t.Errorf("the intruder was answered: %s", got)
	}
	// The log comes through a pipe of its own, which may be behind the socket.
	eventually(t, "the log tells why", func() bool { return strings.Contains(pod.log.String(), "is of this container") })
}

func TestAnotherUsersChildMayOpenItsStdio(t *testing.T) {
	pod := startPod(t, podOptions{child: "open-stdio", uid: serverUID})
	c := pod.dial(t)
	defer mustClose(t, c)
	p := spawn(t, c)
	defer mustClose(t, p)
	if got := say(t, p, "hello"); got != "hello" {
		t.Errorf("the child answered %q", got)
	}
}

func TestSIGTERMWaitsForTheLastConnection(t *testing.T) {
	for name, init := range map[string]bool{"as PID 1": true, "as any process": false} {
		t.Run(name, func(t *testing.T) {
			pod := startPod(t, podOptions{child: "echo", init: init, uid: os.Getuid()})
			c := pod.dial(t)
			p := spawn(t, c)
			if err := unix.Kill(pod.pid, unix.SIGTERM); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the launcher has seen it", func() bool { return strings.Contains(pod.log.String(), "asked to end") })
			if got := say(t, p, "hello"); got != "hello" {
				t.Errorf("after SIGTERM the child answered %q", got)
			}
			mustClose(t, p)
			mustClose(t, c)
			waitEnded(t, pod)
		})
	}
}

func TestSIGTERMEndsAnIdleLauncher(t *testing.T) {
	pod := startPod(t, podOptions{child: "echo", uid: os.Getuid()})
	if err := unix.Kill(pod.pid, unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	waitEnded(t, pod)
}

func waitEnded(t *testing.T, p *pod) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	select {
	case <-p.ended:
	case <-ctx.Done():
		t.Fatal("the launcher did not end")
	}
}

func TestDeathOfTheLauncherIsALoss(t *testing.T) {
	pod := startPod(t, podOptions{child: "tree", init: true, uid: serverUID})
	c := pod.dial(t)
	p := spawn(t, c)
	readPIDs(t, p)
	if err := unix.Kill(pod.pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if e := waitExit(t, p); !e.Lost {
		t.Errorf("the child ended with %+v", e)
	}
	<-c.Lost()
	if _, err := c.Spawn(t.Context()); err == nil || !strings.Contains(err.Error(), "lost") {
		t.Errorf("Spawn: %v", err)
	}
	mustClose(t, p)
	mustClose(t, c)
}
