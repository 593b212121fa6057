// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package launcher

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"toolgate.dev/toolgate/internal/launcher/stderr"
)

func TestChildEchoes(t *testing.T) {
	o := options("echo")
	o.Grace = time.Hour
	onBoth(t, o, func(t *testing.T, s spawner) {
		p := spawn(t, s)
		if got := say(t, p, "hello"); got != "hello" {
			t.Errorf("the child answered %q", got)
		}
		if p.PID() <= 1 {
			t.Errorf("pid %d", p.PID())
		}
		if e := p.ExitErr(); e != nil {
			t.Errorf("ExitErr of a running child: %v", e)
		}
		mustClose(t, p)
		if e := waitExit(t, p); e.Code != 0 {
			t.Errorf("it ended with %+v, wanted the end of stdin to be enough", e)
		}
		mustClose(t, p)
	})
}

func TestManyChildrenLeaveNothing(t *testing.T) {
	const rounds = 200
	o := options("")
	o.Command = []string{"cat"}
	onBoth(t, o, func(t *testing.T, s spawner) {
		mustClose(t, spawn(t, s)) // what is made once is made
		eventually(t, "the first child is gone", func() bool { return len(children()) == 0 })
		quiet := goleak.IgnoreCurrent()
		files := openFiles(t)
		for range rounds {
			p := spawn(t, s)
			if got := say(t, p, "hello"); got != "hello" {
				t.Fatalf("a child answered %q", got)
			}
			mustClose(t, p)
		}
		eventually(t, "no child is left", func() bool { return len(children()) == 0 })
		eventually(t, "no file is left open", func() bool { return openFiles(t) <= files })
		if err := goleak.Find(quiet); err != nil {
			t.Error(err)
		}
	})
}

func TestEndOfAChild(t *testing.T) {
	type end struct {
		Code   int
		Signal string
		Tail   []string
	}
	tests := map[string]struct {
		mode  string
		grace time.Duration
		act   func(t *testing.T, p *Process)
		want  end
	}{
		"fails before its first byte": {
			mode: "fail",
			want: end{Code: 1, Tail: []string{"reading config", "cannot read /etc/server.json: no such file"}},
		},
		"is killed in the middle of its work": {
			mode: "echo",
			act: func(t *testing.T, p *Process) {
				say(t, p, "hello")
				if err := unix.Kill(p.PID(), unix.SIGKILL); err != nil {
					t.Fatal(err)
				}
			},
			want: end{Code: -1, Signal: "SIGKILL"},
		},
		"may finish its work after the end of stdin": {
			mode: "goodbye", grace: time.Hour,
			act:  func(t *testing.T, p *Process) { mustClose(t, p) },
			want: end{Tail: []string{"flushed"}},
		},
		"may write after the end of stdin": {
			mode: "last-words", grace: time.Hour,
			act:  func(t *testing.T, p *Process) { mustClose(t, p) },
			want: end{Tail: []string{"said"}},
		},
		"never reads and heeds nothing": {
			mode: "never-reads",
			act: func(t *testing.T, p *Process) {
				readLine(t, p)
				mustClose(t, p)
			},
			want: end{Code: -1, Signal: "SIGKILL"},
		},
		"never reads and heeds SIGTERM": {
			mode: "sleep", grace: 5 * time.Second,
			act:  func(t *testing.T, p *Process) { mustClose(t, p) },
			want: end{Code: -1, Signal: "SIGTERM"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			o := options(tc.mode)
			if tc.grace != 0 {
				o.Grace = tc.grace
			}
			onBoth(t, o, func(t *testing.T, s spawner) {
				p := spawn(t, s)
				defer mustClose(t, p)
				if tc.act != nil {
					tc.act(t, p)
				}
				e := waitExit(t, p)
				if diff := cmp.Diff(tc.want, end{e.Code, e.Signal, e.StderrTail}, cmpEmpty); diff != "" {
					t.Errorf("end of the child (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tc.want.Tail, p.StderrTail(), cmpEmpty); diff != "" {
					t.Errorf("StderrTail (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// cmpEmpty treats no lines and an empty list of lines alike.
var cmpEmpty = cmp.FilterValues(func(a, b []string) bool { return len(a) == 0 && len(b) == 0 }, cmp.Ignore())

func TestDescendantsThatLeaveAreEnded(t *testing.T) {
	onBoth(t, options("tree"), func(t *testing.T, s spawner) {
		// Another child, so that nobody can be told by being the only one.
		other := spawn(t, s)
		defer mustClose(t, other)
		otherPIDs := readPIDs(t, other)

		p := spawn(t, s)
		pids := readPIDs(t, p)
		if len(pids) != 4 {
			t.Fatalf("%d descendants, wanted 4", len(pids))
		}
		mustClose(t, p)
		for _, pid := range append(pids, p.PID()) {
			eventually(t, "the descendant is gone", func() bool { return gone(pid) })
		}
		for _, pid := range append(otherPIDs, other.PID()) {
			if gone(pid) {
				t.Errorf("process %d of another child was ended too", pid)
			}
		}
	})
}

func readPIDs(t *testing.T, p *Process) []int {
	t.Helper()
	var pids []int
	if err := json.Unmarshal([]byte(readLine(t, p)), &pids); err != nil {
		t.Fatal(err)
	}
	return pids
}

func TestStdoutEndsThoughADescendantHoldsIt(t *testing.T) {
	onBoth(t, options("leave-heir"), func(t *testing.T, s spawner) {
		p := spawn(t, s)
		defer mustClose(t, p)
		out, err := io.ReadAll(p.Stdout())
		if err != nil || len(out) == 0 {
			t.Fatalf("stdout: %q, %v", out, err)
		}
		if e := waitExit(t, p); e.Code != 3 {
			t.Errorf("it ended with %+v", e)
		}
	})
}

func TestOrphansAreReaped(t *testing.T) {
	onBoth(t, options("orphan-flow"), func(t *testing.T, s spawner) {
		p := spawn(t, s)
		readLine(t, p)
		eventually(t, "only the child is left", func() bool { return len(children()) == 1 })
		mustClose(t, p)
		_ = waitExit(t, p)
	})
}

func TestCommandsOfOthersKeepTheirEnd(t *testing.T) {
	onBoth(t, options("orphan-flow"), func(t *testing.T, s spawner) {
		p := spawn(t, s)
		defer mustClose(t, p)
		for range 30 { // beside orphans that end and are reaped
			if err := exec.Command("sh", "-c", "exit 0").Run(); err != nil {
				t.Fatalf("a command that this process started for itself: %v", err)
			}
		}
		readLine(t, p)
	})
}

func TestTheProcessIsLeftAsItWas(t *testing.T) {
	l := Local(options("echo"))
	say(t, spawn(t, l), "hello")
	mustClose(t, l)
	var subreaper int32
	if err := unix.Prctl(unix.PR_GET_CHILD_SUBREAPER, uintptr(unsafe.Pointer(&subreaper)), 0, 0, 0); err != nil || subreaper != 0 {
		t.Errorf("subreaper: %d, %v", subreaper, err)
	}
	if err := goleak.Find(); err != nil {
		t.Error(err)
	}
}

func TestStderrFloodIsBounded(t *testing.T) {
	onBoth(t, options("flood"), func(t *testing.T, s spawner) {
		p := spawn(t, s)
		if got := say(t, p, "hello"); got != "hello" {
			t.Errorf("the child answered %q", got)
		}
		eventually(t, "the tail is full", func() bool { return len(p.StderrTail()) == stderr.MaxLines })
		mustClose(t, p)
		_ = waitExit(t, p)
		for _, line := range p.StderrTail() {
			if len(line) > stderr.MaxLineBytes {
				t.Errorf("a line of %d bytes", len(line))
			}
		}
	})
}

func TestStderrIsSeenWhileTheChildRuns(t *testing.T) {
	onBoth(t, options("one-line"), func(t *testing.T, s spawner) {
		p := spawn(t, s)
		defer mustClose(t, p)
		eventually(t, "the line is there", func() bool { return cmp.Equal(p.StderrTail(), []string{"starting up"}) })
	})
}

func TestAChildsNonBlockingStdinIsItsOwn(t *testing.T) {
	onBoth(t, options("fd-flags"), func(t *testing.T, s spawner) {
		p := spawn(t, s)
		defer mustClose(t, p)
		in := bufio.NewReader(p.Stdout())
		stdin, _ := in.ReadString('\n')
		stdout, err := in.ReadString('\n')
		if err != nil || stdin != "true\n" || stdout != "false\n" {
			t.Errorf("non-blocking: stdin %q, stdout %q, %v", stdin, stdout, err)
		}
		// Ours stay as deadlines need them, for reading and for writing.
		past := time.Unix(1, 0)
		if err := p.Stdout().SetReadDeadline(past); err != nil {
			t.Fatal(err)
		}
		if _, err := in.ReadByte(); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("reading past the deadline: %v", err)
		}
		if err := p.Stdin().SetWriteDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Stdin().Write(make([]byte, 1<<20)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("writing to a child that does not read: %v", err)
		}
	})
}

func TestCloseFreesABlockedReader(t *testing.T) {
	onBoth(t, options("never-reads"), func(t *testing.T, s spawner) {
		p := spawn(t, s)
		readLine(t, p)
		read := make(chan error, 1)
		go func() {
			_, err := p.Stdout().Read(make([]byte, 1))
			read <- err
		}()
		mustClose(t, p)
		// Close drains stdout until the child has ended: whichever of its end and the close comes first ends the read.
		if err := <-read; !errors.Is(err, io.EOF) && !errors.Is(err, os.ErrClosed) {
			t.Errorf("the blocked read ended with %v", err)
		}
	})
}

func TestChildMayOpenItsStdio(t *testing.T) {
	onBoth(t, options("open-stdio"), func(t *testing.T, s spawner) {
		p := spawn(t, s)
		defer mustClose(t, p)
		if got := say(t, p, "hello"); got != "hello" {
			t.Errorf("the child answered %q", got)
		}
	})
}

func TestCloseOfTheClientEndsAll(t *testing.T) {
	onBoth(t, options("tree"), func(t *testing.T, s spawner) {
		p := spawn(t, s)
		pids := readPIDs(t, p)
		mustClose(t, s)
		if p.ExitErr() == nil {
			t.Error("Close returned before the child had ended")
		}
		for _, pid := range append(pids, p.PID()) {
			// It is dead, but on a busy machine its parent may not have taken leave of it yet.
			eventually(t, fmt.Sprintf("process %d is gone", pid), func() bool { return gone(pid) })
		}
		if _, err := s.Spawn(t.Context()); err == nil {
			t.Error("Spawn after Close")
		}
		mustClose(t, p)
	})
}
