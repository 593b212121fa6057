// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package launcher

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// The protocol between dispatcher and launcher: JSON records over a Unix socket
// of type SOCK_SEQPACKET, so that the kernel keeps their boundaries. The first
// record of a connection comes from the dispatcher and says its kind; all that
// follow come from the launcher. The end of the connection is the request to
// end what it stands for.
const (
	protocolVersion = 1
	// maxRecord bounds a record in bytes: a whole tail in JSON fits.
	maxRecord = 64 << 10

	firstRecordWait = 10 * time.Second // for the first record of a connection
	sendWait        = 10 * time.Second // for a record to be taken
	// endWait bounds what the launcher may take to end a child, grace included.
	endWait = 30 * time.Second
)

type recordType string

const (
	// recordControl (dispatcher) opens the control connection.
	recordControl recordType = "control"
	// recordSession (dispatcher) asks for a child; the read end of its stdin and
	// the write end of its stdout come with it, in this order.
	recordSession recordType = "session"
	// recordReady answers recordControl.
	recordReady recordType = "ready"
	// recordRefused says why there is no control connection or no child; the
	// launcher then closes the connection.
	recordRefused recordType = "refused"
	// recordStarted says that the child runs.
	recordStarted recordType = "started"
	// recordStderr carries lines of stderr that are new.
	recordStderr recordType = "stderr"
	// recordExited carries the child's end and its last lines of stderr.
	recordExited recordType = "exited"
)

type record struct {
	Version int        `json:"v"`
	Type    recordType `json:"type"`
	// Child and PID number the child: by the launcher, and in its namespace.
	Child int `json:"child,omitempty"`
	PID   int `json:"pid,omitempty"`
	// Code and Signal are as in ExitError.
	Code    int      `json:"code,omitempty"`
	Signal  string   `json:"signal,omitempty"`
	Lines   []string `json:"lines,omitempty"`
	Message string   `json:"message,omitempty"`
}

// wire is one connection. One goroutine may read while another writes.
type wire struct {
	*net.UnixConn
	buf []byte
}

func newWire(c *net.UnixConn) *wire { return &wire{UnixConn: c, buf: make([]byte, maxRecord)} }

// expire ends every read and write, now and later.
func (w *wire) expire() { _ = w.SetDeadline(time.Unix(1, 0)) } // fails on a closed connection alone

// closeRead ends every read; sending still works.
func (w *wire) closeRead() { _ = w.CloseRead() } // fails where the other side has gone: as good

// hangUp tells the other side of the end, and gives it endWait to say the rest.
func (w *wire) hangUp() {
	_ = w.SetReadDeadline(time.Now().Add(endWait)) // both fail where the other side has gone
	_ = w.CloseWrite()
}

// send writes one record, and with it the child's ends of files.
func (w *wire) send(r record, files ...*os.File) error {
	r.Version = protocolVersion
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(r); err != nil {
		return fmt.Errorf("encoding a %s record: %w", r.Type, err)
	}
	var rights []byte
	if len(files) > 0 {
		fds := make([]int, 0, len(files))
		for _, f := range files {
			fds = append(fds, int(f.Fd()))
		}
		rights = unix.UnixRights(fds...)
	}
	if err := w.SetWriteDeadline(time.Now().Add(sendWait)); err != nil {
		return fmt.Errorf("sending a %s record: %w", r.Type, err)
	}
	if _, _, err := w.WriteMsgUnix(b.Bytes(), rights, nil); err != nil {
		return fmt.Errorf("sending a %s record: %w", r.Type, err)
	}
	return nil
}

// receive reads one record. It offers the kernel no room for file descriptors:
// any that were sent with it are closed unseen.
func (w *wire) receive() (record, error) {
	n, _, flags, _, err := w.ReadMsgUnix(w.buf, nil)
	if err != nil {
		return record{}, fmt.Errorf("receiving a record: %w", err)
	}
	return decodeRecord(w.buf[:n], flags&^unix.MSG_CTRUNC)
}

// receiveFirst reads the first record of a connection, with count file
// descriptors or none.
func (w *wire) receiveFirst(count int) (record, []*os.File, error) {
	patience := time.AfterFunc(firstRecordWait, w.closeRead)
	defer patience.Stop()
	oob := make([]byte, unix.CmsgSpace(4*count))
	n, oobn, flags, _, err := w.ReadMsgUnix(w.buf, oob)
	if err != nil {
		return record{}, nil, fmt.Errorf("receiving a record: %w", err)
	}
	files, err := filesOf(oob[:oobn])
	if err != nil {
		return record{}, nil, err
	}
	r, err := decodeRecord(w.buf[:n], flags)
	if err == nil && len(files) != 0 && len(files) != count {
		err = fmt.Errorf("a %s record came with %d file descriptors instead of %d", r.Type, len(files), count)
	}
	if err != nil {
		closeAll(files...)
		return record{}, nil, err
	}
	return r, files, nil
}

func decodeRecord(b []byte, flags int) (record, error) {
	var r record
	if flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0 {
		return r, errors.New("a record came cut off: too long, or with too many file descriptors")
	}
	if err := json.Unmarshal(b, &r); err != nil {
		return r, fmt.Errorf("decoding a record: %w", err)
	}
	if r.Version != protocolVersion {
		return r, fmt.Errorf("the other side speaks launcher protocol %d, this one %d: use one Toolgate version for both", r.Version, protocolVersion)
	}
	return r, nil
}

func filesOf(oob []byte) ([]*os.File, error) {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, fmt.Errorf("parsing control messages: %w", err)
	}
	var files []*os.File
	for i := range messages {
		fds, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			closeAll(files...)
			return nil, fmt.Errorf("parsing file descriptors: %w", err)
		}
		for _, fd := range fds {
			files = append(files, os.NewFile(uintptr(fd), "handed-over"))
		}
	}
	return files, nil
}
