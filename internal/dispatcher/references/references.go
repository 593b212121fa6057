// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package references tells whether the ConfigMaps and Secrets that a server was started with have another content now. The
// kubelet mounts them into the dispatcher beside; the manager, which may read no Secret, asks for the outcome and restarts pods.
//
// It owns the reading, the digests and their baseline. It must not import Kubernetes, the API, or the packages that move
// messages.
package references

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"toolgate.dev/toolgate/internal/registry"
)

const (
	// interval is how often the mounts are looked at. The kubelet itself is slower.
	interval = 5 * time.Second
	// maxFile bounds one file; Kubernetes keeps a whole ConfigMap or Secret below 1 MiB.
	maxFile = 4 << 20
)

// Options say what to look at.
type Options struct {
	// Dir has a directory for each referenced object; it is empty while the object does not exist.
	Dir string
	// Baseline is the file that remembers, over a restart of the dispatcher's container, what the pod was started with.
	Baseline string
	// Changed is called when State gives something else than before, never concurrently.
	Changed func()
	Log     *slog.Logger
}

// Watcher compares what is mounted with what the pod was started with. It is safe for concurrent use.
type Watcher struct {
	opts Options

	mu    sync.Mutex
	start baseline
	state registry.ReferencesState
}

// baseline is what the pod was started with. Digests are keyed with random bytes that leave the pod never, so that nobody
// who reads them can try out secrets.
type baseline struct {
	Key     []byte            `json:"key"`
	Digests map[string]string `json:"digests"`
}

// New gives a watcher that has read nothing yet.
func New(o Options) *Watcher { return &Watcher{opts: o} }

// State is what was found when the mounts were last looked at.
func (w *Watcher) State() registry.ReferencesState {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.state
}

// Run looks at the mounts now and then until ctx ends. What can't be read counts as unchanged and is logged: a pod is never
// restarted for the reason that nothing is known.
func (w *Watcher) Run(ctx context.Context) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	var last string
	for {
		err := w.Look()
		if err != nil && err.Error() != last {
			w.opts.Log.Error("references of the server not compared", "err", err)
		}
		last = fmt.Sprint(err)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Look compares once.
func (w *Watcher) Look() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.start.Key == nil {
		if err := w.begin(); err != nil {
			return err
		}
	}
	now, err := digests(w.opts.Dir, w.start.Key)
	if err != nil {
		return err
	}
	var changed []string
	for name, digest := range now {
		switch before := w.start.Digests[name]; {
		case before == "":
			// The server can't have started without it, so this is what it started with.
			w.start.Digests[name] = digest
			if err := w.save(); err != nil {
				return err
			}
		case before != digest:
			changed = append(changed, name)
		}
	}
	slices.Sort(changed)
	state := registry.ReferencesState{Changed: changed}
	if len(changed) > 0 {
		state.Digest = combined(now, w.start.Key)
	}
	if !slices.Equal(state.Changed, w.state.Changed) || state.Digest != w.state.Digest {
		w.state = state
		w.opts.Changed()
	}
	return nil
}

// begin takes up the baseline of the container before, or makes the first one.
func (w *Watcher) begin() error {
	data, err := os.ReadFile(w.opts.Baseline)
	switch {
	case err == nil:
		var kept baseline
		if err := json.Unmarshal(data, &kept); err != nil || len(kept.Key) == 0 {
			return fmt.Errorf("reading %s: it is no baseline of references: %w", w.opts.Baseline, err)
		}
		w.start = kept
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("reading the baseline of references: %w", err)
	}
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // it never fails
	found, err := digests(w.opts.Dir, key)
	if err != nil {
		return err
	}
	w.start = baseline{Key: key, Digests: found}
	if err := w.save(); err != nil {
		w.start = baseline{}
		return err
	}
	return nil
}

// save writes the baseline whole or not at all.
func (w *Watcher) save() error {
	data, err := json.Marshal(w.start)
	if err != nil {
		return err
	}
	next := w.opts.Baseline + ".next"
	if err := os.WriteFile(next, data, 0o600); err != nil {
		return fmt.Errorf("writing the baseline of references: %w", err)
	}
	if err := os.Rename(next, w.opts.Baseline); err != nil {
		return fmt.Errorf("writing the baseline of references: %w", err)
	}
	return nil
}

// digests are those of the objects that exist, by the name of their directory.
func digests(dir string, key []byte) (map[string]string, error) {
	objects, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("reading references: %w", err)
	}
	out := map[string]string{}
	for _, object := range objects {
		sum := hmac.New(sha256.New, key)
		files, err := add(sum, filepath.Join(dir, object.Name()))
		if err != nil {
			return nil, err
		}
		if files > 0 {
			out[object.Name()] = hex.EncodeToString(sum.Sum(nil))
		}
	}
	return out, nil
}

// add hashes the files of one object, sorted by name, each with its length before it.
func add(sum hash.Hash, dir string) (files int, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, fmt.Errorf("reading references: %w", err)
	}
	for _, entry := range entries {
		// The kubelet keeps the files in directories of such names and swaps a symlink between them.
		if strings.HasPrefix(entry.Name(), "..") {
			continue
		}
		data, err := read(filepath.Join(dir, entry.Name()))
		if err != nil {
			return 0, fmt.Errorf("reading references: %w", err)
		}
		for _, part := range [][]byte{[]byte(entry.Name()), data} {
			_ = binary.Write(sum, binary.BigEndian, uint64(len(part))) // a hash takes all
			_, _ = sum.Write(part)
		}
		files++
	}
	return files, nil
}

func read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	return io.ReadAll(io.LimitReader(f, maxFile))
}

// combined is one digest over all objects.
func combined(digests map[string]string, key []byte) string {
	sum := hmac.New(sha256.New, key)
	for _, name := range slices.Sorted(maps.Keys(digests)) {
		_, _ = io.WriteString(sum, name+"="+digests[name]+"\n")
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}
