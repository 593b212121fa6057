// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package specs makes changes of specs out of the schemas of the CRDs, so that every field is walked through, also one that
// was added yesterday. It knows schemas and JSON; what the API server thinks of a change is asked of the API server.
package specs

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// Object is JSON as it is decoded.
type Object = map[string]any

// Leaf is a field that holds a value and no other fields.
type Leaf struct {
	Kind string
	// Path is as in kubectl explain, with [] for items and {} for the values of a map: .pod.volumes[].configMap
	Path string
	// fragments are pieces of a spec that set it, with whatever the schema asks for beside it.
	fragments []Object
}

// Leaves reads those of all specs from the CRDs of root.
func Leaves(root string) ([]Leaf, error) {
	files, err := filepath.Glob(filepath.Join(root, "config", "crd", "bases", "*.yaml"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no CRDs under %s: %w", root, err)
	}
	var out []Leaf
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("reading a CRD: %w", err)
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(data, &crd); err != nil {
			return nil, fmt.Errorf("reading %s: %w", file, err)
		}
		spec := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
		for _, f := range fields("", &spec) {
			if strings.Contains(f.path, ".resources.claims") || f.path == ".rules[].shapes" {
				continue // refused at admission, in plain words: pods of a server have no claims, and SHACL is not built
			}
			leaf := Leaf{Kind: crd.Spec.Names.Kind, Path: f.path}
			for _, value := range f.values {
				leaf.fragments = append(leaf.fragments, value.(Object))
			}
			out = append(out, leaf)
		}
	}
	return out, nil
}

// field is a leaf below a schema, and values of that schema that set it.
type field struct {
	path   string
	values []any
}

func fields(path string, s *apiextensionsv1.JSONSchemaProps) []field {
	switch {
	case len(s.Properties) > 0:
		var out []field
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			child := s.Properties[name]
			for _, f := range fields(path+"."+name, &child) {
				out = append(out, f.within(func(value any) any { return complete(path, s, Object{name: value}) }))
			}
		}
		return out
	case s.Items != nil && s.Items.Schema != nil:
		return wrapped(fields(path+"[]", s.Items.Schema), func(value any) any { return []any{value} })
	case s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
		return wrapped(fields(path+"{}", s.AdditionalProperties.Schema), func(value any) any { return Object{keyOf(path): value} })
	default:
		return []field{{path, values(path, s)}}
	}
}

func wrapped(in []field, wrap func(any) any) []field {
	for i := range in {
		in[i] = in[i].within(wrap)
	}
	return in
}

func (f field) within(wrap func(any) any) field {
	out := field{path: f.path}
	for _, value := range f.values {
		out.values = append(out.values, wrap(value))
	}
	return out
}

// complete adds what the schema requires of an object. The spec itself is completed by what it is laid over.
func complete(path string, s *apiextensionsv1.JSONSchemaProps, o Object) Object {
	if path == "" {
		return o
	}
	for _, name := range s.Required {
		if _, there := o[name]; !there {
			child := s.Properties[name]
			o[name] = least(path+"."+name, &child)
			// Of the operators, those that look for a key alone take no values.
			if _, listed := o["values"]; listed && name == "operator" {
				o[name] = "In"
			} else if name == "operator" && len(child.Enum) > 0 {
				o[name] = "Exists"
			}
		}
	}
	return o
}

// least is a value that the schema takes.
func least(path string, s *apiextensionsv1.JSONSchemaProps) any {
	switch {
	case len(s.Properties) > 0:
		return complete(path, s, Object{})
	case s.Items != nil && s.Items.Schema != nil:
		return []any{least(path+"[]", s.Items.Schema)}
	case s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
		return Object{keyOf(path): least(path+"{}", s.AdditionalProperties.Schema)}
	default:
		return values(path, s)[0]
	}
}

// keyOf is a key for a map.
func keyOf(path string) string {
	switch {
	case strings.Contains(path, "resources."):
		return "memory"
	case strings.Contains(path, "nodeSelector"):
		return "kubernetes.io/os"
	default:
		return "example.com/key"
	}
}
