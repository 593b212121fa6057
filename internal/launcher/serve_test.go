// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package launcher

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"toolgate.dev/toolgate/internal/launcher/stderr"
)

func TestPeersAreJudged(t *testing.T) {
	own := uint32(os.Getuid())
	tests := map[string]struct {
		peer  unix.Ucred
		allow int
		init  bool
		want  string
	}{
		"the dispatcher's user":                      {peer: unix.Ucred{Uid: 10002, Pid: 7}, allow: 10002},
		"another user":                               {peer: unix.Ucred{Uid: 10001, Pid: 7}, allow: 10002, want: "user 10001 is not the dispatcher's user 10002"},
		"root, where it is not the dispatcher":       {peer: unix.Ucred{Pid: 7}, allow: 10002, want: "user 0 is not"},
		"the own user, where it is allowed":          {peer: unix.Ucred{Uid: own, Pid: 7}, allow: -1},
		"another than the own user":                  {peer: unix.Ucred{Uid: own + 1, Pid: 7}, allow: -1, want: "is not the dispatcher's user"},
		"the dispatcher, seen from PID 1":            {peer: unix.Ucred{Uid: 10002}, allow: 10002, init: true},
		"the server's code with the allowed user":    {peer: unix.Ucred{Uid: 10002, Pid: 7}, allow: 10002, init: true, want: "process 7 is of this container"},
		"the user that stands for no user":           {peer: unix.Ucred{Uid: 4294967295}, allow: -1, want: "user 4294967295 is not"},
		"an unmapped user of another user namespace": {peer: unix.Ucred{Uid: 65534}, allow: 10002, want: "user 65534 is not"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			err := judgePeer(tc.peer, tc.allow, tc.init)
			if got := errorText(err); tc.want == "" && err != nil || !strings.Contains(got, tc.want) {
				t.Errorf("judgePeer: %v, wanted %q", err, tc.want)
			}
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestAnotherUserIsRefused(t *testing.T) {
	o := options("echo")
	o.AllowUID = os.Getuid() + 1
	o = startServe(t, o)
	_, err := Dial(t.Context(), o.Socket)
	if err == nil || !strings.Contains(err.Error(), "not told to allow") {
		t.Errorf("Dial: %v", err)
	}
}

func TestASessionNeedsAControlConnection(t *testing.T) {
	o := startServe(t, options("echo"))
	c := &Client{socket: o.Socket, lost: make(chan struct{})}
	_, err := c.Spawn(t.Context())
	var refused *SpawnError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "no control connection") {
		t.Errorf("Spawn: %v", err)
	}
}

func TestWhatIsNotTheProtocolIsRefused(t *testing.T) {
	tests := map[string]struct {
		send string
		want string
	}{
		"no JSON":            {send: "GET / HTTP/1.1\r\n\r\n", want: "decoding a record"},
		"another version":    {send: `{"v":2,"type":"control"}`, want: "use one Toolgate version"},
		"no version":         {send: `{"type":"control"}`, want: "use one Toolgate version"},
		"an unknown kind":    {send: `{"v":1,"type":"shell"}`, want: `"shell"`},
		"a launcher's own":   {send: `{"v":1,"type":"ready"}`, want: `"ready"`},
		"no pipes":           {send: `{"v":1,"type":"session"}`, want: "0 file descriptors"},
		"more than a record": {send: `{"v":1,"type":"control"}{}`, want: "decoding a record"},
		"too long":           {send: strings.Repeat(" ", maxRecord+1), want: "too long"},
	}
	o := startServe(t, options("echo"))
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w, err := dial(t.Context(), o.Socket)
			if err != nil {
				t.Fatal(err)
			}
			defer closeAll(w)
			if _, err := w.Write([]byte(tc.send)); err != nil {
				t.Fatal(err)
			}
			r, err := w.receive()
			if err != nil || r.Type != recordRefused || !strings.Contains(r.Message, tc.want) {
				t.Errorf("answer %+v, %v; wanted a refusal with %q", r, err, tc.want)
			}
		})
	}
}

func TestTooManyDescriptorsAreRefusedAndClosed(t *testing.T) {
	o := startServe(t, options("echo"))
	files := openFiles(t)
	w, err := dial(t.Context(), o.Socket)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.send(record{Type: recordSession}, os.Stdin, os.Stdin, os.Stdin); err != nil {
		t.Fatal(err)
	}
	if r, err := w.receive(); err != nil || r.Type != recordRefused {
		t.Errorf("answer %+v, %v", r, err)
	}
	closeAll(w)
	eventually(t, "no file is left open", func() bool { return openFiles(t) <= files })
}

func TestTheNewestDispatcherWins(t *testing.T) {
	o := startServe(t, options("tree"))
	first, err := Dial(t.Context(), o.Socket)
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, first)
	p := spawn(t, first)
	defer mustClose(t, p)
	pids := readPIDs(t, p)

	second, err := Dial(t.Context(), o.Socket)
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, second)
	for _, pid := range append(pids, p.PID()) {
		if !gone(pid) {
			t.Errorf("process %d of the first dispatcher is there when the second begins", pid)
		}
	}
	<-first.Lost()
	if e := waitExit(t, p); e.Signal != "SIGKILL" && !e.Lost {
		t.Errorf("the first dispatcher's child ended with %+v", e)
	}
	mustClose(t, spawn(t, second))
}

func TestLossOfControlKillsAll(t *testing.T) {
	o := options("tree")
	o.Grace = time.Hour
	c := dialServe(t, o)
	var pids []int
	for range 3 {
		p := spawn(t, c)
		defer mustClose(t, p)
		pids = append(pids, append(readPIDs(t, p), p.PID())...)
	}
	closeAll(c.control)
	for _, pid := range pids {
		eventually(t, "the process is gone", func() bool { return gone(pid) })
	}
}

func TestLossOfALauncherIsSaid(t *testing.T) {
	socket := t.TempDir() + "/l.sock"
	l, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: socket, Net: "unixpacket"})
	if err != nil {
		t.Fatal(err)
	}
	defer closeAll(l)
	hostile := func(answers ...string) {
		conn, err := l.AcceptUnix()
		if err != nil {
			return
		}
		defer closeAll(conn)
		if _, err := conn.Read(make([]byte, maxRecord)); err != nil {
			t.Error(err)
		}
		for _, a := range answers {
			if _, err := conn.Write([]byte(a)); err != nil {
				t.Error(err)
			}
		}
	}
	tests := map[string]struct {
		answers []string
		want    string
	}{
		"it goes away":               {answers: nil, want: "closed the connection"},
		"it answers no JSON":         {answers: []string{"hello"}, want: "decoding a record"},
		"it answers something else":  {answers: []string{`{"v":1,"type":"exited"}`}, want: `with "exited" instead of started`},
		"its refusal is cleaned":     {answers: []string{`{"v":1,"type":"refused","message":"no\u001b[31m\r\nway"}`}, want: "noway"},
		"it goes away after a start": {answers: []string{`{"v":1,"type":"started","pid":-5}`}},
		"it tells too much": {answers: []string{`{"v":1,"type":"started"}`,
			`{"v":1,"type":"stderr","lines":[` + strings.Repeat(`"x\u0007\n",`, 300) + `"last"]}`, `{"v":1,"type":"started"}`}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var serving sync.WaitGroup
			serving.Go(func() { hostile(tc.answers...) })
			defer serving.Wait()
			c := &Client{socket: socket, lost: make(chan struct{})}
			p, err := c.Spawn(t.Context())
			if tc.want != "" {
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("Spawn: %v, wanted %q", err, tc.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer mustClose(t, p)
			if e := waitExit(t, p); !e.Lost || e.Code != -1 || len(e.StderrTail) > stderr.MaxLines {
				t.Errorf("the child ended with %+v", e)
			}
			if strings.ContainsAny(strings.Join(p.StderrTail(), ""), "\a\n") {
				t.Errorf("tail %q", p.StderrTail())
			}
		})
	}
}

func TestALaunchersDescriptorsAreNotTaken(t *testing.T) {
	ours, theirs, err := unixPair()
	if err != nil {
		t.Fatal(err)
	}
	defer closeAll(ours)
	defer closeAll(theirs)
	files := openFiles(t)
	if err := theirs.send(record{Type: recordStarted, PID: 7}, os.Stdin, os.Stdin); err != nil {
		t.Fatal(err)
	}
	if r, err := ours.receive(); err != nil || r.PID != 7 {
		t.Errorf("received %+v, %v", r, err)
	}
	if n := openFiles(t); n != files {
		t.Errorf("%d files are open instead of %d", n, files)
	}
}

func unixPair() (a, b *wire, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	var ends [2]*wire
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "end")
		conn, err := net.FileConn(f)
		closeAll(f)
		if err != nil {
			return nil, nil, err
		}
		ends[i] = newWire(conn.(*net.UnixConn))
	}
	return ends[0], ends[1], nil
}

func TestDialSaysThatNobodyIsThere(t *testing.T) {
	_, err := Dial(t.Context(), t.TempDir()+"/l.sock")
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "has the server's container started?") {
		t.Errorf("Dial: %v", err)
	}
}

func TestSpawnHeedsItsContext(t *testing.T) {
	socket := t.TempDir() + "/l.sock"
	l, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: socket, Net: "unixpacket"}) // never accepts
	if err != nil {
		t.Fatal(err)
	}
	defer closeAll(l)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := Dial(ctx, socket); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Dial: %v", err)
	}
	c := &Client{socket: socket, lost: make(chan struct{})}
	if _, err := c.Spawn(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Spawn: %v", err)
	}
}

func TestServeNeedsItsSocketAndCommand(t *testing.T) {
	dir := t.TempDir()
	plain := dir + "/plain"
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		options ServeOptions
		want    string
	}{
		"no command":                     {ServeOptions{Socket: dir + "/s"}, "after --"},
		"a file in the socket's place":   {ServeOptions{Socket: plain, Command: []string{"x"}}, "is no socket"},
		"a directory that is not there":  {ServeOptions{Socket: dir + "/no/s", Command: []string{"x"}}, "directory must exist"},
		"a path too long for the kernel": {ServeOptions{Socket: dir + "/" + strings.Repeat("s", 120), Command: []string{"x"}}, "103 bytes"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if err := Serve(t.Context(), tc.options); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Serve: %v, wanted %q", err, tc.want)
			}
		})
	}
}

func TestServeReplacesTheSocketOfAnEarlierRun(t *testing.T) {
	socket := t.TempDir() + "/l.sock"
	l, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: socket, Net: "unixpacket"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	closeAll(l)
	fresh, err := listen(socket)
	if err != nil {
		t.Fatal(err)
	}
	defer closeAll(fresh)
	if info, err := os.Stat(socket); err != nil || info.Mode().Perm() != 0o666 {
		t.Errorf("the socket: %v, %v", info.Mode(), err)
	}
}

func TestStderrGoesToTheLogByChild(t *testing.T) {
	var log syncBuffer
	o := options("one-line")
	o.Log = &log
	onBoth(t, o, func(t *testing.T, s spawner) {
		log.reset()
		for range 2 {
			p := spawn(t, s)
			defer mustClose(t, p)
		}
		eventually(t, "both lines are there", func() bool {
			text := log.String()
			return strings.Contains(text, "[1] starting up\n") && strings.Contains(text, "[2] starting up\n")
		})
	})
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func (s *syncBuffer) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.b.Reset()
}
