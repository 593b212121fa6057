// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers/leadership"
	"toolgate.dev/toolgate/test/faults/rig"
)

// mostWatches is how often a manager may begin to watch one kind: once, and once more when it leads or where it was cut off.
const mostWatches = 3

// pair is a leader, and a manager that stands by.
type pair struct {
	*succession
	person
	leases          string
	leader, standby *rig.Process
}

// enlist starts a manager and waits until it is ready, leading or not.
func (p *pair) enlist(ctx context.Context) (*rig.Process, error) {
	m, err := p.succession.StartProcess(rig.ProcessOptions{Namespaces: []string{p.namespace}, LeaseNamespace: p.leases, Times: p.times})
	if err != nil {
		return nil, err
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if _, err := answers(ctx, m.Probes+path); err != nil {
			return nil, errors.Join(err, m.Stop())
		}
	}
	return m, nil
}

// elected waits until a manager leads, and says since when.
func (p *pair) elected(ctx context.Context, m *rig.Process) (time.Time, error) {
	if err := until(ctx, "a manager comes to lead", func() bool { return len(m.Renewals()) > 0 }); err != nil {
		return time.Time{}, err
	}
	return m.Renewals()[0].At, nil
}

// round ends the leader's reign, and gives what was wrong. The standby leads in the end.
func (p *pair) round(ctx context.Context, r reign) ([]string, error) {
	c := &changes{person: p.person}
	if err := c.begin(ctx); err != nil {
		return nil, err
	}
	if _, err := p.succession.Reach(ctx, p.namespace, p.before); err != nil {
		return nil, fmt.Errorf("before the change: %w", err)
	}
	made, err := p.watchDeployments(ctx)
	if err != nil {
		return nil, err
	}
	defer made.stop()
	var faults []string
	if polls, sent := p.standby.Polls(), p.standby.Sent(); polls > 0 || len(sent) > 0 {
		faults = append(faults, fmt.Sprintf("a manager that does not lead has asked pods %d times and written %v", polls, sent))
	}
	for m, leads := range map[*rig.Process]bool{p.leader: true, p.standby: false} {
		said, err := answers(ctx, m.Metrics+"/metrics")
		if err != nil {
			return nil, err
		}
		says := strings.Contains(said, `leader_election_master_status{name="`+leadership.LeaseName+`"} 1`)
		if counts := strings.Contains(said, "\ntoolgate_servers{"); says != leads || counts != leads {
			faults = append(faults, fmt.Sprintf("a manager of which it is %v that it leads says that it is %v, and counts: %v", leads, says, counts))
		}
	}
	want := p.before
	if !r.atRest {
		want = p.after
		stop := c.start(ctx)
		defer func() { _ = stop() }()
		if err := p.end(ctx, r); err != nil {
			return nil, err
		}
		if err := errors.Join(stop(), c.finish(ctx)); err != nil {
			return nil, err
		}
	} else if err := p.end(ctx, r); err != nil {
		return nil, err
	}
	if _, err := p.succession.Reach(ctx, p.namespace, want); err != nil {
		p.differing.Add(1)
		faults = append(faults, err.Error())
	}
	more, err := p.judge(ctx, r)
	if err != nil {
		return nil, err
	}
	faults = append(append(faults, more...), made.twice()...)
	p.leader, p.standby = p.standby, nil
	return faults, p.clear(ctx)
}

// end ends the leader in the way of the round and waits until it is gone and the standby leads.
func (p *pair) end(ctx context.Context, r reign) error {
	if !r.atRest {
		before := len(p.leader.Sent())
		if err := until(ctx, "the leader writes", func() bool { return len(p.leader.Sent()) >= before+r.writes }); err != nil {
			return err
		}
	} else if err := rig.Wait(ctx, r.pause); err != nil {
		return err
	}
	began := time.Now()
	stop := map[ending]func() error{handOver: p.leader.Terminate, crash: p.leader.Kill, zombie: p.leader.Pause}[r.ending]
	if err := stop(); err != nil {
		return err
	}
	since, err := p.elected(ctx, p.standby)
	if err != nil {
		return err
	}
	p.note(r.ending, since.Sub(began))
	if r.ending == zombie {
		over := lastRenewal(p.leader).Add(p.times.Lease + r.pause)
		if err := rig.Wait(ctx, time.Until(over)); err != nil {
			return err
		}
		if err := p.leader.Resume(); err != nil {
			return err
		}
	}
	patient, cancel := context.WithTimeout(ctx, rig.Patience)
	defer cancel()
	err = p.leader.Wait(patient)
	switch {
	case patient.Err() != nil:
		return err
	case r.ending == handOver && err != nil:
		return fmt.Errorf("a manager that was told to stop: %w", err)
	case r.ending == zombie && err == nil:
		return errors.New("a zombie ended as if nothing had been")
	}
	return nil
}

// judge holds the round to what two managers wrote.
func (p *pair) judge(ctx context.Context, r reign) ([]string, error) {
	var faults []string
	over := lastRenewal(p.leader).Add(p.times.Renew)
	if next := p.standby.Renewals()[0].At; next.Before(over) {
		over = next
	}
	if late := after(p.leader.Sent(), over); len(late) > 0 {
		p.late.Add(int64(len(late)))
		faults = append(faults, fmt.Sprintf("%d writes when the lease was over, at %v: %v", len(late), over, late))
	}
	if r.atRest {
		// The new leader has seen all when it has asked the pods.
		if err := until(ctx, "the new leader asks pods", func() bool { return p.standby.Polls() > 0 }); err != nil {
			return nil, err
		}
	}
	if _, err := p.succession.Rest(ctx, p.namespace, quiet); err != nil {
		return nil, err
	}
	for _, m := range []*rig.Process{p.leader, p.standby} {
		if n := m.Count("watch", "mcpservers"); n > mostWatches {
			faults = append(faults, fmt.Sprintf("a manager has begun to watch servers %d times: something cuts it off", n))
		}
		for _, s := range m.Sent() {
			if s.Namespace != p.namespace && s.Namespace != p.leases {
				faults = append(faults, fmt.Sprintf("a write into the namespace of somebody else: %v", s))
			}
			if r.atRest && m == p.standby && s.Namespace == p.namespace {
				faults = append(faults, fmt.Sprintf("a new leader wrote although all was at rest: %v", s))
			}
		}
	}
	told, err := p.repeated(ctx)
	return append(faults, told...), err
}

// repeated are the events that tell of one transition twice: of one version of an object the same.
func (p *pair) repeated(ctx context.Context) ([]string, error) {
	var list eventsv1.EventList
	if err := p.succession.Client.List(ctx, &list, client.InNamespace(p.namespace)); err != nil {
		return nil, fmt.Errorf("listing events: %w", err)
	}
	var out []string
	seen := map[string]bool{}
	for i := range list.Items {
		e := &list.Items[i]
		key := fmt.Sprint(e.Regarding.UID, e.Regarding.ResourceVersion, e.Reason, e.Action, e.Note)
		if seen[key] {
			p.twice.Add(1)
			out = append(out, fmt.Sprintf("told twice of %s %s: %s %s", e.Regarding.Kind, e.Regarding.Name, e.Reason, e.Note))
		}
		seen[key] = true
	}
	return out, nil
}

// clear leaves the namespace as it was before the round.
func (p *pair) clear(ctx context.Context) error {
	if err := p.succession.Clear(ctx, p.namespace); err != nil {
		return err
	}
	if err := p.succession.Client.DeleteAllOf(ctx, &eventsv1.Event{}, client.InNamespace(p.namespace)); err != nil {
		return fmt.Errorf("clearing events: %w", err)
	}
	_, err := p.succession.Reach(ctx, p.namespace, rig.State{})
	return err
}

// made are the Deployments that came into a namespace while somebody looked.
type made struct {
	pair  *pair
	watch watch.Interface
	group errgroup.Group
	uids  map[string]map[string]bool
}

func (p *pair) watchDeployments(ctx context.Context) (*made, error) {
	c, err := client.NewWithWatch(p.succession.Config, client.Options{Scheme: p.succession.Scheme})
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	m := &made{pair: p, uids: map[string]map[string]bool{}}
	if m.watch, err = c.Watch(ctx, &appsv1.DeploymentList{}, client.InNamespace(p.namespace)); err != nil {
		return nil, fmt.Errorf("watching Deployments: %w", err)
	}
	m.group.Go(func() error {
		for event := range m.watch.ResultChan() {
			if d, ok := event.Object.(*appsv1.Deployment); ok {
				if m.uids[d.Name] == nil {
					m.uids[d.Name] = map[string]bool{}
				}
				m.uids[d.Name][string(d.UID)] = true
			}
		}
		return nil
	})
	return m, nil
}

func (m *made) stop() {
	m.watch.Stop()
	_ = m.group.Wait()
}

// twice ends looking and says which were made a second time.
func (m *made) twice() []string {
	m.stop()
	var out []string
	for name, uids := range m.uids {
		if len(uids) > 1 {
			m.pair.twice.Add(1)
			out = append(out, fmt.Sprintf("deployment %s was made %d times", name, len(uids)))
		}
	}
	return out
}

// changes are what people do meanwhile. Where it ends does not depend on how far they came.
type changes struct{ person }

// kindsOfChange is how many there are, and newServers how many servers come.
const kindsOfChange, newServers = 4, 3

const finalRule = "size(args) > 3"

func (c *changes) begin(ctx context.Context) error {
	return errors.Join(c.create(ctx, c.server("files"), c.ruleSet("rules", "'path' in args")))
}

// rest waits until so many servers are ready, and the rules, as they are now, and gives the state that all comes to.
func (c *changes) rest(ctx context.Context, servers int) (rig.State, error) {
	ready := func(generation int64, conditions []metav1.Condition) bool {
		r := meta.FindStatusCondition(conditions, mcpv1alpha1.ConditionReady)
		return r != nil && r.Status == metav1.ConditionTrue && r.ObservedGeneration == generation
	}
	err := until(ctx, "all are ready", func() bool {
		var list mcpv1alpha1.MCPServerList
		var rules mcpv1alpha1.RuleSetList
		if c.Client.List(ctx, &list, client.InNamespace(c.namespace)) != nil || c.Client.List(ctx, &rules, client.InNamespace(c.namespace)) != nil {
			return false
		}
		count := 0
		for i := range list.Items {
			if s := &list.Items[i]; ready(s.Generation, s.Status.Conditions) {
				count++
			}
		}
		return count == servers && ready(rules.Items[0].Generation, rules.Items[0].Status.Conditions)
	})
	if err != nil {
		return nil, err
	}
	// The index and what rules say come later, on a busy machine much later.
	return c.Rest(ctx, c.namespace, 4*quiet)
}

// step makes one change of many.
func (c *changes) step(ctx context.Context, i int) error {
	turn := i / kindsOfChange
	switch i % kindsOfChange {
	case 0:
		return c.replicas(ctx, int32(1+turn%2))
	case 1:
		return c.rule(ctx, fmt.Sprintf("size(args) > %d", turn))
	case 2:
		return c.tool(ctx, []mcpv1alpha1.State{mcpv1alpha1.StateDisabled, mcpv1alpha1.StateEnabled}[turn%2])
	default:
		if turn >= newServers {
			return nil
		}
		return c.newServer(ctx, turn)
	}
}

// finish brings about what every run ends with.
func (c *changes) finish(ctx context.Context) error {
	err := errors.Join(c.replicas(ctx, 2), c.rule(ctx, finalRule), c.tool(ctx, mcpv1alpha1.StateDisabled))
	for i := range newServers {
		err = errors.Join(err, c.newServer(ctx, i))
	}
	return err
}

func (c *changes) replicas(ctx context.Context, n int32) error {
	return c.editServer(ctx, func(s *mcpv1alpha1.MCPServerSpec) { s.Replicas = &n })
}

func (c *changes) rule(ctx context.Context, when string) error {
	return edit(ctx, c.person, &mcpv1alpha1.RuleSet{}, "rules", func(rs *mcpv1alpha1.RuleSet) { rs.Spec.Rules[0].When = when })
}

func (c *changes) tool(ctx context.Context, state mcpv1alpha1.State) error {
	return edit(ctx, c.person, &mcpv1alpha1.MCPTool{}, "files.write-file", func(m *mcpv1alpha1.MCPTool) { m.Spec.State = state })
}

func (c *changes) newServer(ctx context.Context, i int) error {
	return client.IgnoreAlreadyExists(c.create(ctx, c.server(fmt.Sprintf("more-%d", i))))
}

// start makes changes until it is stopped, and gives what stops it.
func (c *changes) start(ctx context.Context) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	var group errgroup.Group
	group.Go(func() error {
		for i := 0; ctx.Err() == nil; i++ {
			if err := c.step(ctx, i); err != nil && ctx.Err() == nil {
				return err
			}
			_ = rig.Wait(ctx, 50*time.Millisecond)
		}
		return nil
	})
	return func() error {
		cancel()
		return group.Wait()
	}
}
