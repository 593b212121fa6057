// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package faults runs real managers against a real API server through proxies that make calls fail, views lag and managers
// die, and wants the cluster to end as it would have without. docs/faults.md explains each sweep; all are replayed by the
// seed that they print.
//
// FAULTS is small (the default, as in make test), medium or full (as make faults runs it); SEED replays a run.
package faults

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"toolgate.dev/toolgate/internal/testutil/fakecluster"
	"toolgate.dev/toolgate/test/faults/measured"
	"toolgate.dev/toolgate/test/faults/rig"
)

const root = "../.."

// shared is the API server of all sweeps; nil where there are no binaries for one.
var shared *rig.Rig

// seed is printed by every sweep.
var seed uint64

func TestMain(m *testing.M) {
	if options := os.Getenv(rig.ProcessVariable); options != "" {
		if err := rig.RunProcess(options); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if told := os.Getenv(measured.ChildEnv); told != "" {
		if err := measured.Child(told); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	var err error
	if seed, err = strconv.ParseUint(cmp.Or(os.Getenv("SEED"), "1"), 10, 64); err != nil {
		fmt.Fprintln(os.Stderr, "SEED:", err)
		return 1
	}
	if parallel, err = strconv.Atoi(cmp.Or(os.Getenv("PARALLEL"), "16")); err != nil || parallel < 1 {
		fmt.Fprintln(os.Stderr, "PARALLEL is not a number of points:", os.Getenv("PARALLEL"))
		return 1
	}
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		return m.Run()
	}
	if shared, err = rig.Start(root, fakecluster.Options{Catalogue: catalogue}); err != nil {
		fmt.Fprintln(os.Stderr, "starting the rig:", err)
		return 1
	}
	go stopWhenTold()
	code := m.Run()
	if err := shared.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "stopping the rig:", err)
		return 1
	}
	return code
}

// stopWhenTold ends the API server with the test when somebody ends that.
func stopWhenTold() {
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGTERM, syscall.SIGINT)
	<-told
	_ = shared.Stop()
	os.Exit(1)
}

// need skips a test where there is no API server.
func need(t *testing.T) *rig.Rig {
	t.Helper()
	if shared == nil {
		t.Skip("KUBEBUILDER_ASSETS is not set; make test sets it to a folder with kube-apiserver and etcd")
	}
	return shared
}

// sized picks by FAULTS.
func sized[T any](t *testing.T, small, medium, full T) T {
	t.Helper()
	switch name := cmp.Or(os.Getenv("FAULTS"), "small"); name {
	case "small":
		return small
	case "medium":
		return medium
	case "full":
		return full
	default:
		t.Fatalf("FAULTS=%s is none of small, medium, full", name)
		return small
	}
}

// dice are the random numbers of one sweep.
func dice(sweep uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, sweep)) }

// figures prints a sweep's result in one line.
func figures(t *testing.T, began time.Time, format string, args ...any) {
	t.Helper()
	line := fmt.Sprintf("faults %s: %s; seed %d; %.0f s", t.Name(), fmt.Sprintf(format, args...), seed, time.Since(began).Seconds())
	t.Log(line)
	_, _ = io.WriteString(os.Stdout, line+"\n")
}

// catalogue is what the servers list: it depends on the image alone, as in life.
func catalogue(pod *corev1.Pod) []string {
	for i := range pod.Spec.Containers {
		if n, err := strconv.Atoi(strings.TrimPrefix(pod.Spec.Containers[i].Image, manyTools)); err == nil {
			return toolsOf(n)
		}
	}
	out := []string{fakecluster.Definition("read_file", fakecluster.ReadOnly), fakecluster.Definition("write_file", "")}
	for i := range pod.Spec.Containers {
		switch pod.Spec.Containers[i].Image {
		case secondImage:
			out[1] = fakecluster.Definition("write_file", `,"description":"as of the second image"`)
			out = append(out, fakecluster.Definition("delete_file", ""))
		case fiveTools:
			for _, name := range []string{"delete_file", "list_files", "move_file"} {
				out = append(out, fakecluster.Definition(name, ""))
			}
		}
	}
	return out
}

// toolsOf are the definitions of a server with many tools: four of five have a description as they are in life.
func toolsOf(n int) []string {
	out := make([]string, n)
	for i := range out {
		more := fakecluster.ReadOnly
		if i%5 > 0 {
			more += fmt.Sprintf(`,"description":%q`, strings.Repeat("what the tool does and when to use it. ", 5))
		}
		out[i] = fakecluster.Definition(fmt.Sprintf("tool_%05d", i), more)
	}
	return out
}

// manager runs a manager until the test ends.
func manager(t *testing.T, r *rig.Rig, o rig.ManagerOptions) *rig.Manager {
	t.Helper()
	m, err := r.StartManager(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Stop(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// namespace makes a namespace that is cleared in the end.
func namespace(t *testing.T, r *rig.Rig) string {
	t.Helper()
	name, err := r.Namespace(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Clear(context.WithoutCancel(t.Context()), name); err != nil {
			t.Error(err)
		}
	})
	return name
}

// progress says every half minute how far a sweep has come.
func progress(t *testing.T, count *atomic.Int64, what string) {
	ticker, done := time.NewTicker(30*time.Second), make(chan struct{})
	t.Cleanup(func() { ticker.Stop(); close(done) })
	go func() {
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				fmt.Printf("faults %s: %d %s so far\n", t.Name(), count.Load(), what)
			}
		}
	}()
}
