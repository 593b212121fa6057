// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package shard_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/registry/shard"
)

// FuzzDecode reads a root and the text of one shard, whose digest the root gets where it says DIGEST. What is taken comes back
// from its files the same, however they are cut.
func FuzzDecode(f *testing.F) {
	p, err := shard.NewPlan(document(3, "r1", "r2"))
	if err != nil {
		f.Fatal(err)
	}
	whole, err := p.Files(3, shard.Form{ShardReaders: true})
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range shard.Names() {
		if whole[name] == nil {
			continue
		}
		text, err := shard.Expand(whole[name], 1<<20)
		if err != nil {
			f.Fatal(err)
		}
		root := []byte(`{"version":2,"sequence":1,"server":{"namespace":"n","name":"s"},"upstream":{"transport":"stdio"},"policy":{"timeoutSeconds":1},"revisions":["r1","r2"],"shards":[{"file":"` + name + `","digest":"DIGEST"}]}`)
		f.Add(root, text)
	}
	f.Add(whole[registry.FileName], []byte(nil))
	f.Add([]byte(`{"version":2}`), []byte(`{}`))
	f.Fuzz(func(t *testing.T, root, text []byte) {
		data, err := shard.Compress(text)
		if err != nil {
			t.Fatal(err)
		}
		root = bytes.ReplaceAll(root, []byte("DIGEST"), []byte(registry.Digest(text)))
		loadAny := func(string) ([]byte, error) { return data, nil }
		doc, err := shard.Decode(root, loadAny)
		if err != nil {
			return
		}
		p, err := shard.NewPlan(doc)
		if err != nil {
			t.Fatalf("decoded, but not cut: %v", err)
		}
		if p.TooLarge() != nil {
			return
		}
		for _, form := range []shard.Form{{}, {ShardReaders: true}} {
			again, err := p.Files(doc.Sequence, form)
			if err != nil {
				t.Fatalf("decoded, but not encoded: %v", err)
			}
			back := decode(t, again)
			if diff := cmp.Diff(doc.Sorted(), back.Sorted()); diff != "" {
				t.Errorf("it comes back another (-want +got)\n%s", diff)
			}
		}
	})
}
