// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package launcher

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"toolgate.dev/toolgate/internal/launcher/family"
)

// The test binary is also the child, the child's descendants and the launcher:
// modeVariable says which.
const (
	modeVariable   = "LAUNCHER_TEST_MODE"
	socketVariable = "LAUNCHER_TEST_SOCKET"
	childVariable  = "LAUNCHER_TEST_CHILD_MODE"
	uidVariable    = "LAUNCHER_TEST_ALLOW_UID"
)

func TestMain(m *testing.M) {
	mode := os.Getenv(modeVariable)
	if mode == "" {
		os.Exit(m.Run())
	}
	run, ok := modes[mode]
	if !ok {
		fmt.Fprintln(os.Stderr, "no such mode:", mode)
		os.Exit(2)
	}
	run()
	os.Exit(0)
}

var modes map[string]func()

func init() {
	modes = map[string]func(){
		"echo":     echo,
		"sleep":    sleepForever,
		"stubborn": func() { signal.Ignore(unix.SIGTERM, unix.SIGHUP, unix.SIGINT); sleepForever() },
		"never-reads": func() {
			signal.Ignore(unix.SIGTERM)
			answer("ready")
			sleepForever()
		},
		"fail": func() {
			_, _ = fmt.Fprint(os.Stderr, "reading config\ncannot read /etc/server.json: no such file")
			os.Exit(1)
		},
		"flood": func() {
			go func() {
				for i := 0; ; i++ {
					fmt.Fprintf(os.Stderr, "line %d %s\n", i, strings.Repeat("x", 200))
				}
			}()
			echo()
		},
		"one-line": func() {
			fmt.Fprintln(os.Stderr, "starting up")
			echo()
		},
		"goodbye": func() { // ends on the end of stdin, after some work
			echo()
			fmt.Fprintln(os.Stderr, "flushed")
		},
		"last-words": func() { // says much on stdout after the end of stdin
			echo()
			for range 1000 {
				if _, err := fmt.Fprintln(os.Stdout, strings.Repeat("y", 1000)); err != nil {
					os.Exit(5)
				}
			}
			fmt.Fprintln(os.Stderr, "said")
		},
		"fd-flags":    fdFlags,
		"open-stdio":  openStdio,
		"tree":        tree,
		"daemonize":   daemonize,
		"leave-heir":  leaveHeir,
		"orphan-flow": orphanFlow,
		"env":         func() { answer(strings.Join(os.Environ(), "\x00")) },
		"cwd":         func() { dir, _ := os.Getwd(); answer(dir) },
		"serve":       serveMode,
		"intruder":    intruder,
		"stray":       stray,
	}
}

func answer(what any) { _, _ = fmt.Fprintln(os.Stdout, what) }

func echo() { _, _ = io.Copy(os.Stdout, os.Stdin) }

func sleepForever() {
	for {
		_ = unix.Pause()
	}
}

// again is this binary in another mode.
func again(mode string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), modeVariable+"="+mode)
	return cmd
}

// fdFlags makes stdin non-blocking and prints whether each of both is.
func fdFlags() {
	_ = unix.SetNonblock(0, true)
	for fd := range 2 {
		flags, _ := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
		answer(flags&unix.O_NONBLOCK != 0)
	}
	sleepForever()
}

// openStdio echoes one line through /dev/stdin and /dev/stdout, as some servers do.
func openStdio() {
	in, err := os.Open("/dev/stdin")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	out, err := os.OpenFile("/dev/stdout", os.O_WRONLY, 0)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	line, _ := bufio.NewReader(in).ReadString('\n')
	_, _ = fmt.Fprint(out, line)
}

// tree starts descendants that leave in every way known, none of which heeds
// SIGTERM, prints their pids as a JSON list, and then echoes.
func tree() {
	var pids []int
	start := func(cmd *exec.Cmd) {
		if err := cmd.Start(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		pids = append(pids, cmd.Process.Pid)
	}
	start(again("stubborn")) // in the child's group
	apart := again("stubborn")
	apart.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	start(apart)
	for _, how := range []string{"mark", "stdio"} {
		d := again("daemonize")
		d.Args, d.Stderr = append(d.Args, how), os.Stderr
		out, err := d.Output()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		pid, _ := strconv.Atoi(strings.TrimSpace(string(out)))
		pids = append(pids, pid)
	}
	_ = json.NewEncoder(os.Stdout).Encode(pids)
	echo()
}

// daemonize leaves an orphan in a session of its own, prints its pid and ends.
// The orphan keeps the mark and none of the child's files, or the other way round.
func daemonize() {
	cmd := again("stubborn")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	switch os.Args[1] {
	case "stdio":
		cmd.Env = []string{modeVariable + "=stubborn"}
		cmd.Stderr = os.Stderr
	case "nothing":
		cmd.Env = []string{modeVariable + "=stubborn"}
	}
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	answer(cmd.Process.Pid)
}

// leaveHeir ends and leaves a descendant that holds its stdout and stderr.
func leaveHeir() {
	cmd := again("stubborn")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	answer(cmd.Process.Pid)
	os.Exit(3)
}

// orphanFlow leaves many short-lived orphans behind, then echoes.
func orphanFlow() {
	for range 20 {
		if err := exec.Command("/bin/sh", "-c", "(sleep 0.01 &)").Run(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	answer("left")
	echo()
}

// stray leaves an orphan without any trace of the child, prints its pid, and echoes.
func stray() {
	d := again("daemonize")
	d.Args = append(d.Args, "nothing")
	out, err := d.Output()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_, _ = fmt.Fprint(os.Stdout, string(out))
	echo()
}

// intruder is a child that takes itself for a dispatcher.
func intruder() {
	_, err := Dial(context.Background(), os.Getenv(socketVariable))
	answer(err)
}

// serveMode is a launcher in a process of its own.
func serveMode() {
	uid, _ := strconv.Atoi(os.Getenv(uidVariable))
	err := Serve(context.Background(), ServeOptions{
		Socket: os.Getenv(socketVariable), Command: []string{"/proc/self/exe"}, AllowUID: uid,
		Env: append(os.Environ(), modeVariable+"="+os.Getenv(childVariable)), Log: os.Stderr, Grace: 300 * time.Millisecond,
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// spawner is what the dispatcher sees of both clients.
type spawner interface {
	Spawn(context.Context) (*Process, error)
	Close() error
}

func options(mode string) ServeOptions {
	return ServeOptions{
		Command: []string{"/proc/self/exe"}, Env: append(os.Environ(), modeVariable+"="+mode),
		AllowUID: -1, Grace: 250 * time.Millisecond,
	}
}

// onBoth runs a test with children of this process, and with a launcher.
func onBoth(t *testing.T, o ServeOptions, test func(t *testing.T, s spawner)) {
	t.Helper()
	t.Run("local", func(t *testing.T) {
		l := Local(o)
		defer mustClose(t, l)
		test(t, l)
	})
	t.Run("socket", func(t *testing.T) {
		c := dialServe(t, o)
		defer mustClose(t, c)
		test(t, c)
	})
}

func mustClose(t *testing.T, c io.Closer) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

// dialServe runs Serve in this process until the end of the test.
func dialServe(t testing.TB, o ServeOptions) *Client {
	t.Helper()
	o = startServe(t, o)
	c, err := Dial(t.Context(), o.Socket)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func startServe(t testing.TB, o ServeOptions) ServeOptions {
	t.Helper()
	dir, err := os.MkdirTemp("", "launcher") // t.TempDir can be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	o.Socket = dir + "/l.sock"
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- Serve(ctx, o) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
		_ = os.RemoveAll(dir)
	})
	eventually(t, "the socket is there", func() bool { _, err := os.Stat(o.Socket); return err == nil })
	return o
}

func spawn(t testing.TB, s spawner) *Process {
	t.Helper()
	p, err := s.Spawn(t.Context())
	if err != nil {
		t.Fatalf("Spawn: %v", err)
	}
	return p
}

// say writes a line to the child and returns the line that it answers.
func say(t testing.TB, p *Process, line string) string {
	t.Helper()
	if _, err := io.WriteString(p.Stdin(), line+"\n"); err != nil {
		t.Fatalf("writing to the child: %v; stderr: %q", err, p.StderrTail())
	}
	return readLine(t, p)
}

func readLine(t testing.TB, p *Process) string {
	t.Helper()
	line, err := bufio.NewReader(p.Stdout()).ReadString('\n')
	if err != nil {
		t.Fatalf("reading from the child: %v; stderr: %q", err, p.StderrTail())
	}
	return strings.TrimSuffix(line, "\n")
}

func waitExit(t testing.TB, p *Process) *ExitError {
	t.Helper()
	select {
	case <-p.Exited():
		return p.ExitErr()
	case <-time.After(20 * time.Second):
		t.Fatal("the child did not end")
		return nil
	}
}

func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	tick, late := time.NewTicker(2*time.Millisecond), time.After(20*time.Second)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("never came true: %s", what)
		}
	}
}

// gone reports whether pid is no process any more, not even a zombie.
func gone(pid int) bool { return errors.Is(unix.Kill(pid, 0), unix.ESRCH) }

// children lists the processes below this one, zombies included.
func children() []family.Process {
	var list []family.Process
	for _, p := range family.Processes() {
		if p.Parent == os.Getpid() {
			list = append(list, p)
		}
	}
	return list
}

func openFiles(t testing.TB) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}
