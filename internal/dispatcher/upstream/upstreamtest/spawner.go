// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package upstreamtest helps to test what speaks to servers: children in many moods, which are the test's own binary, and
// a clock that moves only when it is told to. Only tests import it.
package upstreamtest

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
)

// MoodVariable names the environment variable that makes the test's binary a child.
const MoodVariable = "TOOLGATE_TEST_MOOD"

// Main is what TestMain calls, with the value of MoodVariable: it is a server in that mood, and without one it runs the
// tests. It returns the exit status.
func Main(m *testing.M, mood string) int {
	if mood != "" {
		return child(Mood(mood))
	}
	return m.Run()
}

// Spawner starts the test's binary as a child in a mood.
type Spawner struct {
	// Mood is that of the children to come.
	Mood Mood
	// Err is returned instead of a child, if it is set.
	Err error

	mu       sync.Mutex
	started  atomic.Int64
	children []*Child
}

// Spawn starts a child on two pipes.
func (s *Spawner) Spawn(ctx context.Context) (upstream.Process, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Err != nil {
		return nil, s.Err
	}
	childIn, stdin, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	stdout, childOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, childIn.Close(), stdin.Close())
	}
	c := &Child{stdin: stdin, stdout: stdout, exited: make(chan struct{})}
	c.cmd = exec.CommandContext(context.WithoutCancel(ctx), os.Args[0]) //nolint:gosec // the test's own binary
	c.cmd.Env = append(os.Environ(), MoodVariable+"="+string(s.Mood))
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = childIn, childOut, &c.stderr
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = c.cmd.Start()
	err = errors.Join(err, childIn.Close(), childOut.Close())
	if err != nil {
		return nil, errors.Join(err, stdin.Close(), stdout.Close())
	}
	s.started.Add(1)
	s.children = append(s.children, c)
	go c.wait()
	return c, nil
}

// SetMood changes the mood of the children to come.
func (s *Spawner) SetMood(m Mood) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Mood = m
}

// SetErr makes Spawn fail, or work again.
func (s *Spawner) SetErr(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Err = err
}

// Started counts the children so far.
func (s *Spawner) Started() int { return int(s.started.Load()) }

// Last is the child that was started last.
func (s *Spawner) Last() *Child {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.children[len(s.children)-1]
}

// Wait returns when all children have ended.
func (s *Spawner) Wait() {
	s.mu.Lock()
	children := s.children
	s.mu.Unlock()
	for _, c := range children {
		<-c.exited
	}
}

// Child is a process in a mood.
type Child struct {
	cmd           *exec.Cmd
	stdin, stdout *os.File
	stderr        tail
	exited        chan struct{}
	message       string
	once          sync.Once
}

func (c *Child) wait() {
	if err := c.cmd.Wait(); err != nil {
		c.message = err.Error()
	} else {
		c.message = "exit status 0"
	}
	close(c.exited)
}

// Stdin is the write end of the child's standard input.
func (c *Child) Stdin() *os.File { return c.stdin }

// Stdout is the read end of the child's standard output.
func (c *Child) Stdout() *os.File { return c.stdout }

// Exited is closed when the child has ended.
func (c *Child) Exited() <-chan struct{} { return c.exited }

// ExitMessage says how the child ended.
func (c *Child) ExitMessage() string { return c.message }

// StderrTail are the lines on standard error so far.
func (c *Child) StderrTail() []string { return c.stderr.lines() }

// Close ends the child with its group.
func (c *Child) Close() error {
	c.once.Do(func() {
		c.Kill()
		_ = c.stdin.Close() // it may be closed already
		go func() {
			_, _ = io.Copy(io.Discard, c.stdout)
			_ = c.stdout.Close()
		}()
	})
	return nil
}

// Kill is kill -9.
func (c *Child) Kill() {
	_ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL) // it may be gone already
}

type tail struct {
	mu   sync.Mutex
	text strings.Builder
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.Write(p)
}

func (t *tail) lines() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Split(strings.TrimSuffix(t.text.String(), "\n"), "\n")
}
