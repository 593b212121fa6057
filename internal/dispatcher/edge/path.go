// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package edge

import "strings"

// CleanPath reads a path as the people meant it who join addresses by hand: slashes that stand twice count once, and one at
// the end does not count. No redirect tells them so: clients do not follow one with a POST. Dots are left alone, so that no
// path is read as another.
func CleanPath(path string) string {
	for strings.Contains(path, "//") {
		path = strings.ReplaceAll(path, "//", "/")
	}
	if len(path) > 1 {
		path = strings.TrimSuffix(path, "/")
	}
	return path
}
