// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package index_test

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/registry/shard"
	"toolgate.dev/toolgate/internal/render"
	"toolgate.dev/toolgate/internal/render/index"
)

func indexOf(servers, tools int) index.Index {
	content := index.Index{Version: 1, Servers: []index.Server{}}
	for s := range servers {
		server := index.Server{Name: fmt.Sprintf("server-%04d", s), URL: fmt.Sprintf("http://server-%04d.ns.svc/mcp", s), Tools: []index.Tool{}}
		for i := range tools {
			server.Tools = append(server.Tools, index.Tool{
				Name: fmt.Sprintf("tool_%05d", i), Digest: fmt.Sprintf("v1:sha256:%x", sha256.Sum256(fmt.Append(nil, s, i))),
			})
		}
		content.Servers = append(content.Servers, server)
	}
	return content
}

func rendered(t *testing.T, content index.Index, sharded bool) map[string]*corev1ac.ConfigMapApplyConfiguration {
	t.Helper()
	all, err := index.ConfigMaps("ns", content, sharded)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// together puts an index together as docs/registry.md tells clients to.
func together(t *testing.T, all map[string]*corev1ac.ConfigMapApplyConfiguration) index.Index {
	t.Helper()
	var root index.Root
	if err := json.Unmarshal([]byte(all[render.IndexName].Data[render.IndexKey]), &root); err != nil {
		t.Fatal(err)
	}
	content := index.Index{Version: 1}
	tools := map[string][]index.Tool{}
	for _, s := range root.Shards {
		text, err := shard.Expand(all[s.ConfigMap].BinaryData[index.ShardKey], 4<<20)
		if err != nil || registry.Digest(text) != s.Digest {
			t.Fatalf("%s: %v, digest %s", s.ConfigMap, err, registry.Digest(text))
		}
		var part index.Part
		if err := json.Unmarshal(text, &part); err != nil {
			t.Fatal(err)
		}
		content.Servers = append(content.Servers, part.Servers...)
		for _, tool := range part.Tools {
			tools[tool.Server] = append(tools[tool.Server], tool.Tool)
		}
	}
	for i := range content.Servers {
		s := &content.Servers[i]
		s.Tools = append(s.Tools, tools[s.Name]...)
		slices.SortFunc(s.Tools, func(a, b index.Tool) int { return cmp.Compare(a.Name, b.Name) })
	}
	slices.SortFunc(content.Servers, func(a, b index.Server) int { return cmp.Compare(a.Name, b.Name) })
	return content
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestTheIndexOfTenThousandTools(t *testing.T) {
	for name, content := range map[string]index.Index{
		"on one server":          indexOf(1, 10000),
		"on a thousand servers":  indexOf(1000, 10),
		"on five thousand alone": indexOf(5000, 2),
	} {
		t.Run(name, func(t *testing.T) {
			all := rendered(t, content, false)
			total := 0
			for name, cm := range all {
				size := len(asJSON(t, cm))
				total += size
				if size > shard.ObjectBytes || !slices.Contains(index.Names(), name) {
					t.Errorf("ConfigMap %s has %d bytes", name, size)
				}
			}
			t.Logf("%d objects of %d bytes in all", len(all), total)
			if asJSON(t, together(t, all)) != asJSON(t, content) {
				t.Error("the index does not come back from its shards")
			}
			content.Servers[0].Tools[1].Digest = "v1:sha256:other"
			after := rendered(t, content, true)
			var changed []string
			for _, name := range slices.Sorted(maps.Keys(after)) {
				if asJSON(t, all[name]) != asJSON(t, after[name]) {
					changed = append(changed, name)
				}
			}
			if len(changed) != 2 {
				t.Errorf("one tool rewrites %v", changed)
			}
		})
	}
}

func TestASmallIndexIsOneTextAgain(t *testing.T) {
	for _, sharded := range []bool{false, true} {
		if all := rendered(t, indexOf(3, 100), sharded); len(all) != 1 {
			t.Errorf("a small index has %d ConfigMaps", len(all))
		}
	}
	middling := indexOf(1, 1300)
	if one, cut := rendered(t, middling, false), rendered(t, middling, true); len(one) != 1 || len(cut) == 1 {
		t.Errorf("one of a middling size does not stay as it is: %d and %d ConfigMaps", len(one), len(cut))
	}
}

func TestAnIndexThatDoesNotFitIsNotCutShort(t *testing.T) {
	content := indexOf(1, 1)
	content.Servers[0].Description = strings.Repeat("x", 5<<20)
	all := rendered(t, content, false)
	if len(all) != 1 || !strings.Contains(index.Error(all[render.IndexName]), "the index does not fit into 16 ConfigMaps") {
		t.Errorf("%d ConfigMaps, error %q", len(all), index.Error(all[render.IndexName]))
	}
	if got := index.Error(rendered(t, indexOf(1, 1), false)[render.IndexName]); got != "" {
		t.Errorf("one that fits says %q", got)
	}
}
