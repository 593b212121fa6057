// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"fmt"
	"testing"

	"toolgate.dev/toolgate/test/faults/proxy"
	"toolgate.dev/toolgate/test/faults/rig"
)

// kills runs a scenario once for every write of it, and kills the manager there, before the commit and after it. Each point
// has a manager of its own, which sees its namespace alone.
func (c *crashes) kills(t *testing.T, wanted *clean) {
	c.each(t, wanted, []proxy.Fault{proxy.KilledBefore, proxy.KilledAfter}, c.kill)
}

func (c *crashes) kill(ctx context.Context, wanted *clean, at *point) error {
	ns, err := c.Namespace(ctx)
	if err != nil {
		return err
	}
	plan, dead := &once{}, make(chan struct{})
	m, err := c.StartManager(rig.ManagerOptions{
		Namespaces: []string{ns},
		Options:    proxy.Options{Plan: plan, Killed: func() { close(dead) }},
	})
	if err != nil {
		return err
	}
	reached, err := c.until(ctx, wanted, person{c.Rig, ns}, func() { plan.arm(ns, at) }, dead)
	if stopErr := m.Stop(); err == nil {
		err = stopErr
	}
	if err != nil {
		return err
	}
	c.points.Add(1)
	if !reached {
		c.missed.Add(1)
	}
	next, err := c.StartManager(rig.ManagerOptions{Namespaces: []string{ns}})
	if err != nil {
		return err
	}
	_, err = c.Reach(ctx, ns, wanted.after)
	if stopErr := next.Stop(); err == nil {
		err = stopErr
	}
	if err != nil {
		return err
	}
	return c.Clear(ctx, ns)
}

// until runs a scenario until the manager is dead; false when it reached the scenario's end instead.
func (c *crashes) until(ctx context.Context, wanted *clean, p person, arm func(), dead <-chan struct{}) (bool, error) {
	if err := wanted.scenario.before(ctx, p); err != nil {
		return false, err
	}
	if _, err := c.Reach(ctx, p.namespace, wanted.before); err != nil {
		return false, fmt.Errorf("before the fault: %w", err)
	}
	arm()
	if err := wanted.then(ctx, p); err != nil {
		return false, err
	}
	end, cancel := context.WithCancel(ctx)
	defer cancel()
	alive := make(chan error, 1)
	go func() {
		_, err := c.Reach(end, p.namespace, wanted.after)
		alive <- err
	}()
	select {
	case <-dead:
		return true, nil
	case err := <-alive:
		return false, err
	}
}
