// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"encoding/json"
	"fmt"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/registry/shard"
)

const (
	// indexShards is how many shards the index of a namespace has where it is too large to be read at a glance.
	indexShards = 16
	// indexShardedVersion is the version of an index in shards.
	indexShardedVersion = 2
	// IndexShardKey is the key of a shard of the index in its ConfigMap: JSON in gzip.
	IndexShardKey = "index.json.gz"
)

// IndexRoot is what stands in place of an Index that is in shards.
type IndexRoot struct {
	Version int `json:"version"`
	// Servers and Tools are how many there are.
	Servers int `json:"servers"`
	Tools   int `json:"tools"`
	// Shards are ConfigMaps whose parts make the index when they are put together.
	Shards []IndexShard `json:"shards"`
	// Error says why the index is not there at all.
	Error string `json:"error,omitempty"`
}

// IndexShard names one shard. Digest is registry.Digest of its text before compression: a reader that finds another text has come
// in the middle of a change.
type IndexShard struct {
	ConfigMap string `json:"configMap"`
	Digest    string `json:"digest"`
}

// IndexPart is the text of one shard: some servers as in Index, without their tools, and some tools of any server.
type IndexPart struct {
	Version int             `json:"version"`
	Servers []IndexServer   `json:"servers,omitempty"`
	Tools   []IndexPartTool `json:"tools,omitempty"`
}

// IndexPartTool is a tool with the name of its server.
type IndexPartTool struct {
	Server string `json:"server"`
	IndexTool
}

// IndexNames are all ConfigMaps that an index may have: the one that begins it first.
func IndexNames() []string {
	out := make([]string, 0, 1+indexShards)
	out = append(out, IndexName)
	for i := range indexShards {
		out = append(out, fmt.Sprintf("%s.%d", IndexName, i))
	}
	return out
}

// IndexConfigMaps renders the ConfigMaps of an index by name; those that are not in it are not needed. They have no owner: they
// belong to the namespace. A small index is one text that people read; a large one is a root and shards. Which shard holds
// a server or a tool depends on its name alone, so that one that changes rewrites its shard and the root. sharded says that
// the index is in shards now; a little smaller than one that would be cut, it goes on to be. An index that does not fit
// even so is not cut short: its root says that it is not there.
func IndexConfigMaps(namespace string, index Index, sharded bool) (map[string]*corev1ac.ConfigMapApplyConfiguration, error) {
	whole, err := indented(index)
	if err != nil {
		return nil, fmt.Errorf("encoding the index of namespace %s: %w", namespace, err)
	}
	if shard.FitsText(whole, sharded) {
		return map[string]*corev1ac.ConfigMapApplyConfiguration{IndexName: indexConfigMap(namespace, whole)}, nil
	}
	root := IndexRoot{Version: indexShardedVersion, Servers: len(index.Servers), Shards: []IndexShard{}}
	out := map[string]*corev1ac.ConfigMapApplyConfiguration{}
	for i, part := range divideIndex(index) {
		root.Tools += len(part.Tools)
		if len(part.Servers) == 0 && len(part.Tools) == 0 {
			continue
		}
		name := IndexNames()[i+1]
		plain, err := json.Marshal(part)
		if err != nil {
			return nil, fmt.Errorf("encoding the index of namespace %s: %w", namespace, err)
		}
		data, err := shard.Compress(plain)
		if err != nil {
			return nil, fmt.Errorf("encoding the index of namespace %s: %w", namespace, err)
		}
		if !shard.FitsBinary(plain, data) {
			root.Error = fmt.Sprintf("the index does not fit into %d ConfigMaps: %s would have %d bytes after compression; move servers to other namespaces", indexShards, name, len(data))
		}
		root.Shards = append(root.Shards, IndexShard{name, registry.Digest(plain)})
		out[name] = corev1ac.ConfigMap(name, namespace).WithLabels(IndexLabels()).WithBinaryData(map[string][]byte{IndexShardKey: data})
	}
	if root.Error != "" {
		root.Shards = []IndexShard{}
		clear(out)
	}
	text, err := indented(root)
	out[IndexName] = indexConfigMap(namespace, text)
	return out, err
}

// IndexError says why an index that was rendered is not there; "" where it is.
func IndexError(cm *corev1ac.ConfigMapApplyConfiguration) string {
	var root struct {
		Error string `json:"error"`
	}
	if err := json.Unmarshal([]byte(cm.Data[IndexKey]), &root); err != nil {
		return err.Error()
	}
	return root.Error
}

func divideIndex(index Index) []IndexPart {
	parts := make([]IndexPart, indexShards)
	for i := range parts {
		parts[i].Version = indexShardedVersion
	}
	for _, s := range index.Servers {
		for _, t := range s.Tools {
			part := &parts[shard.Of("tool/"+s.Name+"/"+t.Name, indexShards)]
			part.Tools = append(part.Tools, IndexPartTool{s.Name, t})
		}
		s.Tools = []IndexTool{}
		part := &parts[shard.Of("server/"+s.Name, indexShards)]
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

func indexConfigMap(namespace string, text []byte) *corev1ac.ConfigMapApplyConfiguration {
	return corev1ac.ConfigMap(IndexName, namespace).
		WithLabels(IndexLabels()).
		WithData(map[string]string{IndexKey: string(text)})
}
