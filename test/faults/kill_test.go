// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"errors"
	"fmt"
	"time"

	"toolgate.dev/toolgate/test/faults/proxy"
	"toolgate.dev/toolgate/test/faults/rig"
)

// kills runs a scenario once for every write of it, and kills the manager there, before the commit and after it. Each point
// has a manager of its own, which sees its namespace alone.
func (c *crashes) kills(ctx context.Context, wanted *clean) error {
	points := c.each(wanted, []proxy.Fault{proxy.KilledBefore, proxy.KilledAfter}, wanted.kills, func(p *point) error {
		return c.kill(ctx, wanted, p)
	})
	return clearAll(ctx, c.Rig, points)
}

func (c *crashes) kill(ctx context.Context, wanted *clean, at *point) error {
	var next *rig.Manager
	err := c.slot(func() (err error) {
		if err = c.die(ctx, wanted, at); err != nil {
			return err
		}
		next, err = c.succeed(ctx, wanted, at)
		return err
	})
	if err != nil {
		return err
	}
	return errors.Join(c.calm.rest(ctx, next, "killed while "+wanted.name, []*point{at}), next.Stop())
}

// die runs a scenario under a manager that is killed at a point.
func (c *crashes) die(ctx context.Context, wanted *clean, at *point) error {
	var err error
	if at.namespace, err = c.Namespace(ctx); err != nil {
		return err
	}
	plan, dead := &once{}, make(chan struct{})
	m, err := c.StartManager(rig.ManagerOptions{
		Namespaces: []string{at.namespace},
		Options:    proxy.Options{Plan: plan, Killed: func() { close(dead) }},
	})
	if err != nil {
		return err
	}
	return errors.Join(c.until(ctx, wanted, at, func() { plan.arm(at.namespace, at) }, dead), m.Stop())
}

// succeed lets another manager take over. It is the caller's to stop where there is no error.
func (c *crashes) succeed(ctx context.Context, wanted *clean, at *point) (*rig.Manager, error) {
	if !at.hit.IsZero() {
		at.hit = time.Now() // until then nobody could do anything about it
	}
	m, err := c.StartManager(rig.ManagerOptions{Namespaces: []string{at.namespace}})
	if err != nil {
		return nil, err
	}
	if _, err = c.Reach(ctx, at.namespace, wanted.after); err != nil {
		return nil, errors.Join(err, m.Stop())
	}
	at.reached = time.Now()
	return m, nil
}

// until runs a scenario until the manager is dead, or has come to the scenario's end instead.
func (c *crashes) until(ctx context.Context, wanted *clean, at *point, arm func(), dead <-chan struct{}) error {
	p := person{Rig: c.Rig, namespace: at.namespace}
	if err := wanted.scenario.before(ctx, p); err != nil {
		return err
	}
	if _, err := c.Reach(ctx, p.namespace, wanted.before); err != nil {
		return fmt.Errorf("before the fault: %w", err)
	}
	arm()
	if err := wanted.then(ctx, p); err != nil {
		return err
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
		return nil
	case err := <-alive:
		return err
	}
}
