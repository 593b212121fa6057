// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package waves

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// DefaultMax is how many servers one wave has where nothing is said.
const DefaultMax = 10

// Next is the wave that comes after the last: at most as many of those that wait, of one namespace, in the order of their names.
func Next(waiting []types.NamespacedName, most int) []types.NamespacedName {
	sorted := slices.Clone(waiting)
	slices.SortFunc(sorted, func(a, b types.NamespacedName) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	n := 0
	for n < len(sorted) && n < most && sorted[n].Namespace == sorted[0].Namespace {
		n++
	}
	return sorted[:n]
}
