// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/test/dataplane/scripted"
)

// TestDrainLosesNoCall ends the dispatcher while calls are in flight, with and without sessions, over both transports.
func TestDrainLosesNoCall(t *testing.T) {
	const sessions, anonymous = 8, 8
	for transport, start := range map[string]func(*testing.T, *child) *dispatcher{
		"stdio": func(t *testing.T, c *child) *dispatcher {
			return serve(t, document(t, c.definitions()...), c.command()...)
		},
		"HTTP": func(t *testing.T, c *child) *dispatcher { return serve(t, overHTTP(t, c)) },
	} {
		t.Run(transport, func(t *testing.T) {
			c := newChild(t, scripted.Good, scripted.Hang)
			d := start(t, c).ready()
			var group sync.WaitGroup
			call := func(s *client, number int) {
				group.Go(func() {
					if a, err := s.tryCall("hang", fmt.Sprintf(`{"call":%d}`, number)); err != nil || !a.good() {
						t.Errorf("call %d was lost: %v %+v", number, err, a)
					}
				})
			}
			for i := range sessions {
				call(d.session(latest), i)
			}
			for i := range anonymous {
				call(d.anonymous(), sessions+i)
			}
			await(t, "all calls have reached the server", func() bool { return strings.Count(c.read(), `"hang"`) == sessions+anonymous })
			d.terminate()
			d.until("the dispatcher drains", func(s registry.State) bool { return s.Draining && !s.Ready })
			if a := d.anonymous().post(initialize(latest)); a.session != "" || a.refusal().Reason != "Draining" {
				t.Errorf("a session during a drain: %d %s", a.status, a.body)
			}
			c.release()
			group.Wait()
			d.stop()
			noProcesses(t, c)
		})
	}
}

// TestDrainHook is what the preStop hook of a pod calls: it answers when the last call has.
func TestDrainHook(t *testing.T) {
	c := newChild(t, scripted.Good, scripted.Hang)
	d := serve(t, document(t, c.definitions()...), c.command()...).ready()
	s := d.session(latest)
	results := make(chan string, 2)
	go func() {
		a, err := s.tryCall("hang", `{}`)
		results <- fmt.Sprint("call ", err == nil && a.good())
	}()
	await(t, "the call has reached the server", func() bool { return strings.Contains(c.read(), `"hang"`) })
	go func() {
		resp, err := web.Get(d.admin + "/drain")
		if err == nil {
			err = resp.Body.Close()
		}
		results <- fmt.Sprint("drain ", err == nil && resp.StatusCode == http.StatusOK)
	}()
	d.until("the dispatcher drains", func(s registry.State) bool { return s.Draining })
	select {
	case early := <-results:
		t.Errorf("%s before the call was released", early)
	default:
	}
	c.release()
	got := map[string]bool{<-results: true, <-results: true}
	if !got["call true"] || !got["drain true"] {
		t.Errorf("results %v", got)
	}
}

// TestOneShotCallsLeaveNothing is G-60: 1,000 calls without a session, each with a process of its own, leave no process, no
// descriptor and no goroutine behind.
func TestOneShotCallsLeaveNothing(t *testing.T) {
	const calls, callers = 1000, 4
	c := newChild(t, scripted.Good, greet)
	d := serve(t, document(t, c.definitions()...), c.command()...).ready()
	one := func(i int) {
		var a *answer
		var err error
		if i%2 == 0 {
			a, err = d.anonymous().tryCall("greet", `{"name":"Jane"}`)
		} else {
			a, err = d.anonymous().tryModern("tools/call", `"name":"greet","arguments":{"name":"Jane"}`, "Mcp-Name", "greet")
		}
		if err != nil || !a.good() {
			t.Errorf("call %d: %v %+v", i, err, a)
		}
	}
	// At rest there are the process of discovery and two spares.
	atRest := func() bool { return len(processes(t, c)) == 3 }
	one(0)
	await(t, "the spares are ready", atRest)
	before := 0
	await(t, "descriptors are at rest", func() bool { last := before; before = descriptors(t, d); return last == before && atRest() })
	running := goroutines(t, d)
	var group sync.WaitGroup
	for caller := range callers {
		group.Go(func() {
			for i := range calls / callers {
				one(caller + i)
			}
		})
	}
	group.Wait()
	after, still := 0, 0.0
	await(t, "everything is as before", func() bool {
		after, still = descriptors(t, d), goroutines(t, d)
		return atRest() && after <= before && still <= running
	})
	t.Logf("%d calls: 3 processes of the server, %d descriptors and %.0f goroutines before; %d, %d and %.0f after",
		calls, before, running, len(processes(t, c)), after, still)
	d.stop()
	noProcesses(t, c)
}

// TestSessionsLeaveNothing begins many sessions at once (G-63), and ends them in each way.
func TestSessionsLeaveNothing(t *testing.T) {
	const sessions = 50
	c := newChild(t, scripted.Good, greet)
	d := serve(t, document(t, c.definitions()...), c.command()...).ready()
	await(t, "discovery is alone", func() bool { return len(processes(t, c)) == 1 })
	var group sync.WaitGroup
	for i := range sessions {
		group.Go(func() {
			s := d.anonymous()
			a, err := s.send(initialize(latest))
			if err != nil || a.session == "" {
				t.Errorf("session %d: %v %+v", i, err, a)
				return
			}
			s.session = a.session
			if a, err := s.tryCall("greet", `{"name":"Jane"}`); err != nil || !a.good() {
				t.Errorf("session %d: %v %+v", i, err, a)
			}
			request, err := http.NewRequest(http.MethodDelete, s.url, nil)
			if err != nil {
				t.Error(err)
				return
			}
			request.Header.Set("Mcp-Session-Id", s.session)
			resp, err := web.Do(request)
			if err != nil || resp.Body.Close() != nil || resp.StatusCode >= 300 {
				t.Errorf("ending session %d: %v %+v", i, err, resp)
			}
		})
	}
	group.Wait()
	await(t, "discovery is alone again", func() bool { return len(processes(t, c)) == 1 })
	d.stop()
	noProcesses(t, c)
}

// processes are the ids of the server's processes: their command lines name its folder.
func processes(t testing.TB, c *child) []int {
	t.Helper()
	files := must[[]string](t)(filepath.Glob("/proc/[0-9]*/cmdline"))
	isLog := func(arg []byte) bool { return string(arg) == c.Log }
	var ids []int
	for _, file := range files {
		line, err := os.ReadFile(file)
		if args := bytes.Split(line, []byte{0}); err != nil || len(args) < 2 || string(args[1]) != scripted.Argument || !slices.ContainsFunc(args, isLog) {
			continue // it has ended, or is another's
		}
		ids = append(ids, must[int](t)(strconv.Atoi(strings.Split(file, "/")[2])))
	}
	return ids
}

func noProcesses(t testing.TB, c *child) {
	t.Helper()
	if left := processes(t, c); len(left) > 0 {
		t.Errorf("processes %v of the server are left", left)
	}
}

// goroutines counts those of the dispatcher, once the connections of clients have gone.
func goroutines(t testing.TB, d *dispatcher) float64 {
	t.Helper()
	web.CloseIdleConnections()
	return figure(t, d, "go_goroutines")
}

// figure is one of the dispatcher's metrics that has no labels.
func figure(t testing.TB, d *dispatcher, name string) float64 {
	t.Helper()
	resp := must[*http.Response](t)(web.Get(d.admin + "/metrics"))
	defer resp.Body.Close() //nolint:errcheck // what matters was read
	for line := range strings.Lines(string(must[[]byte](t)(io.ReadAll(resp.Body)))) {
		if value, found := strings.CutPrefix(line, name+" "); found {
			return must[float64](t)(strconv.ParseFloat(strings.TrimSpace(value), 64))
		}
	}
	t.Fatalf("there is no metric %s", name)
	return 0
}

// descriptors counts those of the dispatcher, but for the connections of clients, which come and go by themselves.
func descriptors(t testing.TB, d *dispatcher) int {
	t.Helper()
	web.CloseIdleConnections()
	folder := fmt.Sprintf("/proc/%d/fd", d.Process.Pid)
	entries := must[[]os.DirEntry](t)(os.ReadDir(folder))
	n := 0
	for _, e := range entries {
		target, err := os.Readlink(filepath.Join(folder, e.Name()))
		if err == nil && !strings.HasPrefix(target, "socket:") {
			n++
		}
	}
	return n
}
