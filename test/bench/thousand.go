// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"toolgate.dev/toolgate/internal/registry"
)

// Thousands is what a server of a thousand tools takes of its dispatcher, with full policy. Times are medians.
type Thousands struct {
	// Start is from the start of the process to readiness, with the document there; Ready from the moment that the document
	// appears, with the process running. The server's own start and its list are part of both.
	Start float64 `json:"start_ms"`
	Ready float64 `json:"ready_ms"`
	// Reload is from the replacing of the document to the answer by it.
	Reload float64 `json:"reload_ms"`
	// Idle is the resident memory when it is ready and has settled.
	Idle int64 `json:"resident_idle_bytes"`
	// List is the server's time for one page of tools/list by its own metrics, ListPage the latency at the client.
	List     float64 `json:"list_page_inside_us"`
	ListPage float64 `json:"list_page_us"`
}

const (
	manyTools = 1000
	// repeats is how often what happens once per start is measured.
	repeats = 5
	// settle is how long a dispatcher may rest before its memory is read: the runtime gives memory back in the background.
	settle = 3 * time.Second
)

func (w *world) thousand(ctx context.Context) (*Thousands, error) {
	r := &Thousands{}
	var starts, readies []time.Duration
	for range repeats {
		d, err := w.cold(ctx, true)
		if err != nil {
			return nil, err
		}
		starts = append(starts, d)
		if d, err = w.cold(ctx, false); err != nil {
			return nil, err
		}
		readies = append(readies, d)
	}
	r.Start, r.Ready = milli(median(starts)), milli(median(readies))
	return r, w.warm(ctx, r)
}

// cold starts a dispatcher, and gives the time to readiness.
func (w *world) cold(ctx context.Context, now bool) (time.Duration, error) {
	t, doc, err := w.thousandth(ctx, now)
	defer t.close()
	if err != nil {
		return 0, err
	}
	if now {
		return t.start, nil
	}
	if err := poll(ctx, func() error { _, err := t.get(t.probe, "/healthz"); return err }); err != nil {
		return 0, err
	}
	begin := time.Now()
	if err := write(doc, t.file); err != nil {
		return 0, err
	}
	err = t.ready(ctx)
	return time.Since(begin), err
}

// thousandth starts a dispatcher before a server of a thousand tools.
func (w *world) thousandth(ctx context.Context, now bool) (*target, *registry.Document, error) {
	t := &target{name: "dispatcher, a thousand tools", transport: overStdio}
	doc, err := document(manyTools, full)
	if err != nil {
		return t, nil, err
	}
	begin := time.Now()
	if err := w.dispatcher(ctx, t, doc, now); err != nil {
		return t, nil, err
	}
	if now {
		err = t.ready(ctx)
		t.start = time.Since(begin)
	}
	return t, doc, err
}

// warm measures what happens while the dispatcher runs.
func (w *world) warm(ctx context.Context, r *Thousands) error {
	t, doc, err := w.thousandth(ctx, true)
	defer t.close()
	if err != nil {
		return err
	}
	if err := rest(ctx); err != nil {
		return err
	}
	r.Idle = t.resident()
	if err := t.connect(ctx, time.Now()); err != nil {
		return err
	}
	if err := t.lists(r); err != nil {
		return err
	}
	var reloads []time.Duration
	for range repeats {
		took, err := t.reload(ctx, doc)
		if err != nil {
			return err
		}
		reloads = append(reloads, took)
	}
	r.Reload = milli(median(reloads))
	return nil
}

// lists asks for the first page of tools/list over and over.
func (t *target) lists(r *Thousands) error {
	c, err := dialHTTP(t.address)
	if err != nil {
		return err
	}
	defer c.Close() //nolint:errcheck // it was only asked
	ask := post(t.session, []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	const warm, times = 20, 300
	var took []time.Duration
	var before usage
	for i := range warm + times {
		if i == warm {
			before, took = t.usage(), nil
		}
		at := time.Now()
		if n, err := c.exchange(ask); err != nil || c.status != 200 || n < 10_000 {
			return fmt.Errorf("tools/list: status %d, %d bytes: %w", c.status, n, err)
		}
		took = append(took, time.Since(at))
	}
	r.List = (t.usage().served - before.served) * 1e6 / times
	r.ListPage = micro(median(took))
	return nil
}

// reload puts a newer document in place that disables the first tool, or enables it again, and waits for the answer to
// change.
func (t *target) reload(ctx context.Context, doc *registry.Document) (time.Duration, error) {
	first := &doc.Revisions[revision].Tools[0]
	doc.Sequence++
	want := `"isError":true`
	if first.Withheld == "" {
		first.Withheld = "Disabled"
	} else {
		first.Withheld, want = "", `"result"`
	}
	c, err := dialHTTP(t.address)
	if err != nil {
		return 0, err
	}
	defer c.Close() //nolint:errcheck // it was only asked
	ask := post(t.session, callBody(1<<10))
	begin := time.Now()
	if err := write(doc, t.file); err != nil {
		return 0, err
	}
	err = poll(ctx, func() error {
		n, err := c.exchange(ask)
		if err != nil {
			return err
		}
		if served := n > 1<<10; served != (first.Withheld == "") {
			return errors.New("no " + want + " yet")
		}
		return nil
	})
	return time.Since(begin), err
}

// rest lets targets settle.
func rest(ctx context.Context) error {
	select {
	case <-time.After(settle):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

func milli(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
