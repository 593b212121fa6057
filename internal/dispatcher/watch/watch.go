// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package watch keeps the registry document in force: it reads the files strictly, swaps to a newer document at once, and
// keeps the last good one on any error and while the files of a newer one are on their way.
//
// It owns the reading and the sequence. It must not import Kubernetes, the API, or the packages that move messages.
package watch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/registry/shard"
)

// pollInterval is how often the file is read although nothing was notified: a volume may be one that inotify does not see.
const pollInterval = 5 * time.Second

// Options say what to watch.
type Options struct {
	// Path is the document's first file, beside which its shards lie if it has any, or the directory that holds them all. A
	// mounted volume replaces files through a symlink in the same directory.
	Path string
	// Revision is the dispatcher's own; empty takes the only revision of the document, as at a desk.
	Revision string
	// Upstream is the way to the server of the dispatcher's own revision; nil takes the document's, as at a desk.
	Upstream *registry.Upstream
	// Apply puts a snapshot in force, or says why it cannot be. It is never called concurrently.
	Apply func(*registry.Snapshot) error
	// Report is called after every reading that changed Status, never concurrently.
	Report func(Status)
	Log    *slog.Logger
}

// Status is the document in force, and why a newer one was refused.
type Status struct {
	Snapshot *registry.Snapshot // nil while there is none
	Error    string
}

// Watcher holds the document in force. It is safe for concurrent use.
type Watcher struct {
	opts Options

	mu     sync.Mutex
	status Status
	seen   string // digest of the first file that was read last and had all of its shards
	// awaited is what was missing of the files that were read last.
	awaited string
}

// New gives a watcher that has read nothing yet.
func New(opts Options) *Watcher { return &Watcher{opts: opts} }

// Status is the state after the last reading.
func (w *Watcher) Status() Status {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.status
}

// Reload reads the files once. The error says why they are not in force; the document that was stays so.
func (w *Watcher) Reload() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	load := loadFrom(w.opts.Path)
	first, err := firstOf(w.opts.Path, load)
	if err != nil {
		return w.refuse("", err)
	}
	digest := registry.Digest(first)
	if digest == w.seen {
		return w.lastError()
	}
	snapshot, err := w.compile(first, load, digest)
	var incomplete *shard.IncompleteError
	switch {
	case errors.As(err, &incomplete) && w.status.Snapshot != nil:
		// Nothing is wrong: the rest is on its way, and whoever compares digests sees that it has not arrived.
		w.await(err)
		return nil
	case errors.As(err, &incomplete):
		return w.refuse("", err)
	case err != nil:
		return w.refuse(digest, err)
	}
	if err := w.opts.Apply(snapshot); err != nil {
		return w.refuse(digest, fmt.Errorf("registry document: %w", err))
	}
	w.seen, w.awaited = digest, ""
	w.report(Status{Snapshot: snapshot})
	w.opts.Log.Info("registry document in force", "digest", digest, "sequence", snapshot.Document().Sequence,
		"tools", len(snapshot.Tools()), "revisionKnown", snapshot.Known())
	return nil
}

// await tells of what is missing once, and reads everything again the next time.
func (w *Watcher) await(err error) {
	w.seen = ""
	if w.awaited != err.Error() {
		w.awaited = err.Error()
		w.opts.Log.Info("registry document is not complete yet; the last one stays in force", "err", err)
	}
}

func (w *Watcher) lastError() error {
	if w.status.Error == "" {
		return nil
	}
	return errors.New(w.status.Error)
}

// refuse keeps the document in force and says why. One cause is told once.
func (w *Watcher) refuse(digest string, err error) error {
	w.seen = digest
	if w.status.Error != err.Error() {
		w.report(Status{Snapshot: w.status.Snapshot, Error: err.Error()})
	}
	return err
}

func (w *Watcher) report(s Status) {
	w.status = s
	w.opts.Report(s)
}

func (w *Watcher) compile(first []byte, load shard.Load, digest string) (*registry.Snapshot, error) {
	doc, err := shard.Decode(first, load)
	if err != nil {
		return nil, err
	}
	if last := w.status.Snapshot; last != nil && doc.Sequence < last.Document().Sequence {
		return nil, fmt.Errorf("registry document: sequence %d is lower than %d, which is in force; an older document is never taken back",
			doc.Sequence, last.Document().Sequence)
	}
	revision, err := w.revision(doc)
	if err != nil {
		return nil, err
	}
	if own := w.opts.Upstream; own != nil {
		doc.Upstream = own.In(doc.Upstream)
	}
	return registry.Compile(doc, digest, revision)
}

func (w *Watcher) revision(doc *registry.Document) (string, error) {
	if w.opts.Revision != "" {
		return w.opts.Revision, nil
	}
	names := slices.Sorted(maps.Keys(doc.Revisions))
	if len(names) != 1 {
		return "", fmt.Errorf("registry document: it holds %d revisions (%s); name one with --revision", len(names), strings.Join(names, ", "))
	}
	return names[0], nil
}

// Run reads the files whenever its directory changes, and now and then, until ctx ends. Reading errors are in Status, not
// in Run's error.
func (w *Watcher) Run(ctx context.Context) error {
	notes, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watching the registry document: %w", err)
	}
	defer func() { _ = notes.Close() }() // nothing is lost with it
	dir := directory(w.opts.Path)
	if err := notes.Add(dir); err != nil {
		w.opts.Log.Warn("directory of the registry document is not watched, only polled", "directory", dir, "err", err)
	}
	poll := time.NewTicker(pollInterval)
	defer poll.Stop()
	for {
		w.reloadAndLog()
		select {
		case <-ctx.Done():
			return nil
		case _, ok := <-notes.Events:
			if !ok {
				return errors.New("watching the registry document: notifications ended")
			}
		case err := <-notes.Errors:
			w.opts.Log.Warn("notifications of the registry document were lost; it is read again", "err", err)
		case <-poll.C:
			// A directory that was not there at first may be now; adding one twice does nothing.
			_ = notes.Add(dir)
		}
	}
}

// reloadAndLog logs a refusal when it is new: Reload runs for every event of the directory.
func (w *Watcher) reloadAndLog() {
	before := w.Status().Error
	if err := w.Reload(); err != nil && err.Error() != before {
		w.opts.Log.Error("registry document refused; the last good one stays in force", "err", err)
	}
}
