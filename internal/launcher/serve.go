// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package launcher

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"toolgate.dev/toolgate/internal/launcher/family"
)

// acceptPause follows a failed accept, for want of descriptors or memory.
const acceptPause = 50 * time.Millisecond

// Serve starts a child for each session connection on o.Socket, until ctx ends,
// or SIGTERM has come and no connection is left (an earlier SIGTERM is kept in
// mind, so that calls in flight can end). It then leaves no process behind, and
// returns nil. It returns an error where it could not begin.
//
// It is made to be PID 1 of the server's container, where it reaps every
// orphan; it works as any other process as well. The process must not start
// commands of its own in other process groups beside it.
func Serve(ctx context.Context, o ServeOptions) error {
	if len(o.Command) == 0 {
		return errors.New("no command to serve: give the server's command after --")
	}
	listener, err := listen(o.Socket)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(o.Socket) }() // the next run replaces one that is left
	defer closeAll(listener)
	if err := family.Join(); err != nil {
		return err
	}
	defer family.Leave()
	terminate := make(chan os.Signal, 1)
	signal.Notify(terminate, unix.SIGTERM)
	defer signal.Stop(terminate)

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &server{launch: newLaunch(o, true), ctx: ctx, idle: make(chan struct{}, 1)}
	var accepting sync.WaitGroup
	accepting.Go(func() { s.accept(listener) })
	s.waitForEnd(terminate)

	cancel()
	closeAll(listener)
	accepting.Wait()
	s.handlers.Wait()
	if left := family.KillEverything(); len(left) > 0 {
		s.log.printf("launcher: processes %v did not end on SIGKILL", left)
	}
	return nil
}

// server is the state of one Serve.
type server struct {
	*launch
	ctx      context.Context // ends with Serve
	handlers sync.WaitGroup
	idle     chan struct{} // holds a token when the last connection has gone

	mu      sync.Mutex
	open    int // connections
	control *control
}

// listen makes the socket, in place of one that an earlier run left. It gets its
// name last, so that whoever finds it can connect.
func listen(path string) (*net.UnixListener, error) {
	if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSocket == 0 {
		return nil, fmt.Errorf("%s is there and is no socket: remove it, or name another path with --socket", path)
	}
	made := path + ".new"
	if err := os.Remove(made); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("removing the socket of an earlier run: %w", err)
	}
	l, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: made, Net: "unixpacket"})
	if err != nil {
		return nil, fmt.Errorf("listening on %q (its directory must exist, and the path may have 103 bytes): %w", path, err)
	}
	l.SetUnlinkOnClose(false) // it has another name by then
	// The dispatcher has another user id; who connects is checked by checkPeer.
	//nolint:gosec // G302: see above
	if err := errors.Join(os.Chmod(made, 0o666), os.Rename(made, path)); err != nil {
		closeAll(l)
		return nil, fmt.Errorf("opening the socket to the dispatcher's user: %w", err)
	}
	return l, nil
}

func (s *server) waitForEnd(terminate <-chan os.Signal) {
	asked := false
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-terminate:
			asked = true
		case <-s.idle:
		}
		s.mu.Lock()
		open := s.open
		s.mu.Unlock()
		if asked && open == 0 {
			return
		}
		if asked {
			s.log.printf("launcher: asked to end; waiting for %d connections of the dispatcher", open)
		}
	}
}

func (s *server) accept(l *net.UnixListener) {
	for {
		conn, err := l.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			s.log.printf("launcher: accepting a connection: %v", err)
			select {
			case <-time.After(acceptPause):
			case <-s.ctx.Done():
			}
			continue
		}
		if err := checkPeer(conn, s.opts.AllowUID); err != nil {
			s.log.printf("launcher: refused a connection: %v", err)
			closeAll(conn)
			continue
		}
		s.mu.Lock()
		s.open++
		s.mu.Unlock()
		s.handlers.Go(func() { s.handle(newWire(conn)) })
	}
}

// checkPeer refuses whoever is not the dispatcher, by what the kernel says of
// the process that connected (SO_PEERCRED, unix(7)).
func checkPeer(conn *net.UnixConn, allow int) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return fmt.Errorf("reading the peer's identity: %w", err)
	}
	var peer *unix.Ucred
	var credErr error
	if err := raw.Control(func(fd uintptr) {
		peer, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return fmt.Errorf("reading the peer's identity: %w", err)
	}
	if credErr != nil {
		return fmt.Errorf("reading the peer's identity: %w", credErr)
	}
	return judgePeer(*peer, allow, os.Getpid() == 1)
}

// judgePeer decides on a peer. For PID 1 the dispatcher is in another PID
// namespace and so has no pid here: one that has is the server's own code,
// whatever its user id.
func judgePeer(peer unix.Ucred, allow int, init bool) error {
	if allow == -1 {
		allow = os.Getuid()
	}
	if int64(peer.Uid) != int64(allow) {
		return fmt.Errorf("user %d is not the dispatcher's user %d", peer.Uid, allow)
	}
	if init && peer.Pid != 0 {
		return fmt.Errorf("process %d is of this container, and the dispatcher is not", peer.Pid)
	}
	return nil
}

// handle runs one connection to its end.
func (s *server) handle(conn *wire) {
	defer func() {
		closeAll(conn)
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.open--; s.open == 0 {
			select {
			case s.idle <- struct{}{}:
			default:
			}
		}
	}()
	// The end of Serve reads like the end of the connection; sending still works.
	stop := context.AfterFunc(s.ctx, conn.closeRead)
	defer stop()
	r, files, err := conn.receiveFirst(2)
	defer closeAll(files...)
	if err != nil {
		s.refuse(conn, err.Error())
		return
	}
	switch {
	case r.Type == recordControl:
		s.serveControl(conn)
	case r.Type == recordSession && len(files) == 2:
		s.serveSession(conn, files[0], files[1])
	default:
		s.refuse(conn, fmt.Sprintf("a connection can't begin with a %q record and %d file descriptors", r.Type, len(files)))
	}
}

func (s *server) refuse(conn *wire, why string) {
	s.log.printf("launcher: %s", why)
	_ = conn.send(record{Type: recordRefused, Message: why}) // the dispatcher has gone: the log has it
}
