// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"toolgate.dev/toolgate/internal/registry"
)

// npm gives the command line of a server that hack/image/npm.sh has installed.
func npm(t testing.TB, name, program string, args ...string) []string {
	t.Helper()
	folder := os.Getenv("TOOLGATE_NPM")
	if folder == "" {
		t.Skip("TOOLGATE_NPM is not set: it names the folder that hack/image/npm.sh prints")
	}
	return append([]string{filepath.Join(folder, name, "node_modules/.bin", program)}, args...)
}

// everything gives the command line of the reference server.
func everything(t testing.TB, args ...string) []string {
	t.Helper()
	return npm(t, "everything", "mcp-server-everything", args...)
}

// everythingOver starts the reference server in a mode in which it listens, and gives the URL at which it is.
func everythingOver(t testing.TB, mode, path string) string {
	t.Helper()
	command := everything(t, mode)
	l := must[net.Listener](t)(net.Listen("tcp", "127.0.0.1:0"))
	port := l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	server := exec.Command(command[0], command[1:]...)
	server.Env = append(os.Environ(), "PORT="+strconv.Itoa(port))
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill() // an error is that it has ended
		_ = server.Wait()         // it was killed
	})
	address := "127.0.0.1:" + strconv.Itoa(port)
	await(t, "the server listens", func() bool {
		conn, err := net.Dial("tcp", address)
		return err == nil && conn.Close() == nil
	})
	return "http://" + address + path
}

// runs carries out a command of the dispatcher. The error is that of its exit.
func runs(t testing.TB, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, log bytes.Buffer
	cmd := exec.CommandContext(t.Context(), binaries.dispatcher, args...)
	cmd.Stdout, cmd.Stderr = &out, &log
	err = cmd.Run()
	return out.String(), log.String(), err
}

// initialized gives the document that `dispatcher registry init` writes, with trust.
func initialized(t testing.TB, source ...string) *registry.Document {
	t.Helper()
	file := filepath.Join(t.TempDir(), registry.FileName)
	if _, log, err := runs(t, append([]string{"registry", "init", "--out", file}, source...)...); err != nil {
		t.Fatalf("registry init: %v\n%s", err, log)
	}
	doc := must[*registry.Document](t)(registry.Decode(must[[]byte](t)(os.ReadFile(file))))
	doc.Policy.Trust.Trusted = true
	return doc
}
