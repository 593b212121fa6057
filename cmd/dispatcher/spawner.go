// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"sync"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/launcher"
)

// process is a launcher's process as upstream sees it.
type process struct{ *launcher.Process }

// ExitMessage says how the process ended, in words.
func (p process) ExitMessage() string { return p.ExitErr().Error() }

// localSpawner starts processes as children of this one.
type localSpawner struct{ *launcher.LocalClient }

// Spawn starts a child.
func (s localSpawner) Spawn(ctx context.Context) (upstream.Process, error) {
	p, err := s.LocalClient.Spawn(ctx)
	if err != nil {
		return nil, err
	}
	return process{p}, nil
}

// socketSpawner starts processes through the launcher in the server's container, which it connects to when it is first
// needed, and again when the container was restarted.
type socketSpawner struct {
	path string

	mu     sync.Mutex
	client *launcher.Client
}

// Spawn starts a child.
func (s *socketSpawner) Spawn(ctx context.Context) (upstream.Process, error) {
	client, err := s.connected(ctx)
	if err != nil {
		return nil, err
	}
	p, err := client.Spawn(ctx)
	if err != nil {
		return nil, err
	}
	return process{p}, nil
}

func (s *socketSpawner) connected(ctx context.Context) (*launcher.Client, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client != nil {
		select {
		case <-s.client.Lost():
			_ = s.client.Close() // it is lost: there is nothing left to end
			s.client = nil
		default:
			return s.client, nil
		}
	}
	client, err := launcher.Dial(ctx, s.path)
	if err != nil {
		return nil, err
	}
	s.client = client
	return client, nil
}

// Close ends all children.
func (s *socketSpawner) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client == nil {
		return nil
	}
	return s.client.Close()
}
