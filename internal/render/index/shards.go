// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"bytes"
	"encoding/json"
	"fmt"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/registry/shard"
	"toolgate.dev/toolgate/internal/render"
)

const (
	// shards is how many shards the index of a namespace has where it is too large to be read at a glance.
	shards = 16
	// shardedVersion is the version of an index in shards.
	shardedVersion = 2
	// ShardKey is the key of a shard of the index in its ConfigMap: JSON in gzip.
	ShardKey = "index.json.gz"
)

// Root is what stands in place of an Index that is in shards.
type Root struct {
	Version int `json:"version"`
	// Servers and Tools are how many there are.
	Servers int `json:"servers"`
	Tools   int `json:"tools"`
	// Shards are ConfigMaps whose parts make the index when they are put together.
	Shards []Shard `json:"shards"`
	// Error says why the index is not there at all.
	Error string `json:"error,omitempty"`
}

// Shard names one shard. Digest is registry.Digest of its text before compression: a reader that finds another text has come
// in the middle of a change.
type Shard struct {
	ConfigMap string `json:"configMap"`
	Digest    string `json:"digest"`
}

// Part is the text of one shard: some servers as in Index, without their tools, and some tools of any server.
type Part struct {
	Version int        `json:"version"`
	Servers []Server   `json:"servers,omitempty"`
	Tools   []PartTool `json:"tools,omitempty"`
}

// PartTool is a tool with the name of its server.
type PartTool struct {
	Server string `json:"server"`
	Tool
}

// Names are all ConfigMaps that an index may have: the one that begins it first.
func Names() []string {
	out := make([]string, 0, 1+shards)
	out = append(out, render.IndexName)
	for i := range shards {
		out = append(out, fmt.Sprintf("%s.%d", render.IndexName, i))
	}
	return out
}

// ConfigMaps renders the ConfigMaps of an index by name; those that are not in it are not needed. They have no owner: they
// belong to the namespace. A small index is one text that people read; a large one is a root and shards. Which shard holds
// a server or a tool depends on its name alone, so that one that changes rewrites its shard and the root. sharded says that
// the index is in shards now; a little smaller than one that would be cut, it goes on to be. An index that does not fit
// even so is not cut short: its root says that it is not there.
func ConfigMaps(namespace string, index Index, sharded bool) (map[string]*corev1ac.ConfigMapApplyConfiguration, error) {
	whole, err := indented(index)
	if err != nil {
		return nil, fmt.Errorf("encoding the index of namespace %s: %w", namespace, err)
	}
	if shard.FitsText(whole, sharded) {
		return map[string]*corev1ac.ConfigMapApplyConfiguration{render.IndexName: configMap(namespace, whole)}, nil
	}
	root := Root{Version: shardedVersion, Servers: len(index.Servers), Shards: []Shard{}}
	out := map[string]*corev1ac.ConfigMapApplyConfiguration{}
	for i, part := range divideIndex(index) {
		root.Tools += len(part.Tools)
		if len(part.Servers) == 0 && len(part.Tools) == 0 {
			continue
		}
		name := Names()[i+1]
		plain, err := json.Marshal(part)
		if err != nil {
			return nil, fmt.Errorf("encoding the index of namespace %s: %w", namespace, err)
		}
		data, err := shard.Compress(plain)
		if err != nil {
			return nil, fmt.Errorf("encoding the index of namespace %s: %w", namespace, err)
		}
		if !shard.FitsBinary(plain, data) {
			root.Error = fmt.Sprintf("the index does not fit into %d ConfigMaps: %s would have %d bytes after compression; move servers to other namespaces", shards, name, len(data))
		}
		root.Shards = append(root.Shards, Shard{name, registry.Digest(plain)})
		out[name] = described(name, namespace).WithBinaryData(map[string][]byte{ShardKey: data})
	}
	if root.Error != "" {
		root.Shards = []Shard{}
		clear(out)
	}
	text, err := indented(root)
	out[render.IndexName] = configMap(namespace, text)
	return out, err
}

// Error says why an index that was rendered is not there; "" where it is.
func Error(cm *corev1ac.ConfigMapApplyConfiguration) string {
	var root struct {
		Error string `json:"error"`
	}
	if err := json.Unmarshal([]byte(cm.Data[render.IndexKey]), &root); err != nil {
		return err.Error()
	}
	return root.Error
}

func divideIndex(index Index) []Part {
	parts := make([]Part, shards)
	for i := range parts {
		parts[i].Version = shardedVersion
	}
	for _, s := range index.Servers {
		for _, t := range s.Tools {
			part := &parts[shard.Of("tool/"+s.Name+"/"+t.Name, shards)]
			part.Tools = append(part.Tools, PartTool{s.Name, t})
		}
		s.Tools = []Tool{}
		part := &parts[shard.Of("server/"+s.Name, shards)]
		part.Servers = append(part.Servers, s)
	}
	return parts
}

func indented(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(v)
	return buf.Bytes(), err
}

func configMap(namespace string, text []byte) *corev1ac.ConfigMapApplyConfiguration {
	return described(render.IndexName, namespace).WithData(map[string]string{render.IndexKey: string(text)})
}

// description says whose it is. It is also how an index is known again whose labels and content are both somebody else's.
const description = "What the MCP servers of this namespace offer. Toolgate writes it, and overwrites what others write."

func described(name, namespace string) *corev1ac.ConfigMapApplyConfiguration {
	return corev1ac.ConfigMap(name, namespace).WithLabels(render.IndexLabels()).WithAnnotations(map[string]string{"kubernetes.io/description": description})
}
