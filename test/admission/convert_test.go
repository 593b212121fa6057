// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"encoding/json"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// convert fills a typed object, and refuses what its type does not know.
func convert(from any, to client.Object) error {
	data, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return yaml.UnmarshalStrict(data, to)
}

// specOf is the spec of a typed object as YAML with sorted keys.
func specOf(object client.Object) (string, error) {
	data, err := json.Marshal(object)
	if err != nil {
		return "", err
	}
	var m map[string]any
	if err := json.Unmarshal(data, &m); err != nil {
		return "", err
	}
	return yamlOf(m["spec"])
}

func yamlOf(v any) (string, error) {
	data, err := yaml.Marshal(v)
	return string(data), err
}
