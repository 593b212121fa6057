// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
)

// write puts the result into a folder as JSON and as text, and shows the text.
func (r *Result) write(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	file := filepath.Join(folder, "result.json")
	if err := os.WriteFile(file, append(data, '\n'), 0o600); err != nil {
		return err
	}
	var table strings.Builder
	r.table(&table)
	if err := os.WriteFile(filepath.Join(folder, "result.txt"), []byte(table.String()), 0o600); err != nil {
		return err
	}
	fmt.Printf("%s\nThe whole result is in %s\n", table.String(), file)
	return nil
}

// printf writes into memory, where nothing fails.
func printf(out io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(out, format, args...) }

func (r *Result) table(out io.Writer) {
	m := r.Machine
	printf(out, "%s\n%d x %s, %.1f GB, Linux %s, %s, load %s\n", r.Started.Format("2006-01-02 15:04 UTC"),
		m.Cores, m.CPU, float64(m.Memory)/1e9, m.Kernel, m.Go, m.Load)
	for _, name := range slices.Sorted(maps.Keys(m.Versions)) {
		printf(out, "%s %s\n", name, m.Versions[name])
	}
	for _, l := range r.order() {
		printf(out, "\nResults of %s, %d at once\n", sizeName(l.Bytes), l.Concurrency)
		r.loadTable(out, l)
	}
	printf(out, "\n")
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	printf(w, "\tstart ms\tMB idle\tMB after\t\n")
	for _, f := range r.Targets {
		printf(w, "%s\t%.1f\t%.1f\t%.1f\t\n", f.Target, f.Start, float64(f.Idle)/1e6, float64(f.Resident)/1e6)
	}
	_ = w.Flush() // into memory
	if t := r.Thousand; t != nil {
		printf(out, "\nA thousand tools, full policy: ready %.1f ms after its process started, %.1f ms after its document appeared; reload %.1f ms;\n"+
			"idle %.1f MB; one page of tools/list %.0f us inside, %.0f us at the client\n", t.Start, t.Ready, t.Reload, float64(t.Idle)/1e6, t.List, t.ListPage)
	}
}

// order gives the loads as they were measured.
func (r *Result) order() []load {
	var loads []load
	for _, f := range r.Loads {
		if !slices.Contains(loads, f.load) {
			loads = append(loads, f.load)
		}
	}
	return loads
}

// loadTable compares the targets under one load. The last column is how many times as many calls a second the dispatcher
// with full policy carries.
func (r *Result) loadTable(out io.Writer, l load) {
	ours := map[string]float64{} // calls a second by transport
	for _, f := range r.Loads {
		if f.load == l && strings.HasPrefix(f.Target, "dispatcher, full") {
			ours[transportOf(f.Target)] = f.PerSecond
		}
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	printf(w, "\tp50 us\tp99 us\tadded p50\tadded p99\tcalls/s\tCPU ms/1000\tallocs\tbytes\tfull policy is\t\n")
	for _, f := range r.Loads {
		if f.load != l {
			continue
		}
		if f.Error != "" {
			printf(w, "%s\tfailed: %s\t\n", f.Target, f.Error)
			continue
		}
		ratio := ""
		if us := ours[transportOf(f.Target)]; us > 0 {
			ratio = fmt.Sprintf("%.2fx", us/f.PerSecond)
		}
		printf(w, "%s\t%.0f\t%.0f\t%s\t%s\t%.0f\t%.1f\t%s\t%s\t%s\t\n", f.Target, f.P50, f.P99, number(f.AddedP50), number(f.AddedP99),
			f.PerSecond, f.CPUPer1000, number(f.Allocations), number(f.Allocated), ratio)
	}
	_ = w.Flush() // into memory
}

// number leaves a figure out that was not measured.
func number(f float64) string {
	if f == 0 {
		return ""
	}
	return fmt.Sprintf("%.0f", f)
}

func transportOf(target string) string {
	_, transport, _ := strings.Cut(target, " (")
	return transport
}
