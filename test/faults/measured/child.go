// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package measured

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"net/url"
	"os"
	"runtime"
	rdebug "runtime/debug"
	"runtime/metrics"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"toolgate.dev/toolgate/controllers"
	"toolgate.dev/toolgate/controllers/polled"
	"toolgate.dev/toolgate/controllers/prober"
	"toolgate.dev/toolgate/controllers/process"
	"toolgate.dev/toolgate/internal/render/workload"
	"toolgate.dev/toolgate/test/faults/rig"
)

// Figures are what a manager says of itself.
type Figures struct {
	// Synced says that its informers have listed everything.
	Synced bool
	// Waiting are requests in its queues or on their way, and Done those that were worked off since its start.
	Waiting, Done int
	// By is Done by controller.
	By map[string]int
	// Heap are the bytes of objects on its heap, Stacks those of its goroutines' stacks.
	Heap, Stacks uint64
	Goroutines   int
	// CPU is what the process has used so far, to the microsecond.
	CPU time.Duration
	// Resident and Peak are bytes of resident memory, now and at most.
	Resident, Peak uint64
}

// Child runs the manager that the value of ChildEnv asks for, until SIGTERM.
func Child(told string) error {
	var o childOptions
	if err := json.Unmarshal([]byte(told), &o); err != nil {
		return fmt.Errorf("reading %s: %w", ChildEnv, err)
	}
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	ctx := ctrl.SetupSignalHandler()
	mgr, err := process.New(ctx, &rest.Config{Host: o.Host, QPS: -1}, process.Options{Controllers: podsAt(o.Dispatchers), MetricsAddress: "0"})
	if err != nil {
		return err
	}
	synced := make(chan struct{})
	go func() {
		if mgr.GetCache().WaitForCacheSync(ctx) {
			close(synced)
		}
	}()
	address, err := debug(synced)
	if err != nil {
		return err
	}
	if _, err := fmt.Println(address); err != nil {
		return fmt.Errorf("telling the address: %w", err)
	}
	return mgr.Start(ctx)
}

// podsAt lets every pod have an address of its own, and so connections of its own as in a cluster, although one server answers
// for all.
func podsAt(dispatchers string) controllers.Options {
	base, _ := url.Parse(dispatchers)
	client := prober.NewClient()
	client.Transport.(*http.Transport).DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{Timeout: prober.Timeout}).DialContext(ctx, network, base.Host)
	}
	return controllers.Options{
		Platform: workload.Platform{Image: "toolgate.dev/toolgate:test", ManagerNamespace: "toolgate-system"},
		Keys:     rig.Keys,

		HTTP:   client,
		PodURL: func(t polled.Target) string { return "http://" + t.UID + ".pod/" + t.UID },
	}
}

// debug serves figures and profiles on loopback.
func debug(synced <-chan struct{}) (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("listening: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/figures", func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Query().Has("collect") {
			runtime.GC()
			rdebug.FreeOSMemory()
		}
		select {
		case <-synced:
			_ = json.NewEncoder(w).Encode(figures(true))
		default:
			_ = json.NewEncoder(w).Encode(figures(false))
		}
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go func() {
		if err := server.Serve(listener); err != nil {
			fmt.Fprintln(os.Stderr, "debug endpoint:", err)
		}
	}()
	return listener.Addr().String(), nil
}

func figures(synced bool) Figures {
	samples := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(samples)
	f := Figures{
		Synced: synced, By: map[string]int{}, Goroutines: runtime.NumGoroutine(),
		Heap: samples[0].Value.Uint64(), Stacks: samples[1].Value.Uint64(),
	}
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err == nil {
		f.CPU = time.Duration(used.Utime.Nano() + used.Stime.Nano())
	}
	families, err := ctrlmetrics.Registry.Gather()
	if err != nil {
		return f
	}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			switch family.GetName() {
			case "workqueue_depth", "controller_runtime_active_workers":
				f.Waiting += int(m.GetGauge().GetValue())
			case "controller_runtime_reconcile_total":
				f.Done += int(m.GetCounter().GetValue())
				f.By[controllerOf(m)] += int(m.GetCounter().GetValue())
			}
		}
	}
	return f
}

func controllerOf(m *dto.Metric) string {
	for _, label := range m.GetLabel() {
		if label.GetName() == "controller" {
			return label.GetValue()
		}
	}
	return ""
}
