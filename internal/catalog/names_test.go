// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var subdomain = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)

// isSubdomain is the rule of Kubernetes for DNS-1123 subdomains.
func isSubdomain(name string) bool {
	return len(name) <= 253 && subdomain.MatchString(name)
}

func TestObjectName(t *testing.T) {
	long := strings.Repeat("a_", 100)
	for tool, want := range map[string]string{
		"echo":                   "srv.echo",
		"read_text_file":         "srv.read-text-file",
		"a__b":                   "srv.a--b",
		"0":                      "srv.0",
		"deadbeef":               "srv.deadbeef",
		"read-file":              "srv.read-file-a00b4bbe",
		"getUser":                "srv.getuser-e28ebfde",
		"files.read":             "srv.files-read-601e4eb6",
		"greet (with Icons)":     "srv.greet-with-icons-f8f2e7d2",
		"_private":               "srv.private-3ce6c249",
		"trailing_":              "srv.trailing-e50cedf6",
		"___":                    "srv.tool-bda25155",
		"工具":                     "srv.tool-5ca6730d",
		"":                       "srv.tool-e3b0c442",
		"a_deadbeef":             "srv.a-deadbeef-a2402ed8",
		long:                     "srv." + strings.TrimSuffix(strings.Repeat("a-", 90), "-") + "-fc917946",
		strings.Repeat("a", 189): "srv." + strings.Repeat("a", 189),
		strings.Repeat("a", 190): "srv." + strings.Repeat("a", 180) + "-09b87c3c",
		"\xff\xfe":               "srv.tool-b3d510ef",
		"tool\u212a":             "srv.toolk-ce48003f",
		"UPPER":                  "srv.upper-9cba1c65",
	} {
		if got := ObjectName("srv", tool); got != want {
			t.Errorf("ObjectName(srv, %q) = %q, want %q", tool, got, want)
		}
	}
}

func TestObjectNamesAreDistinctSubdomains(t *testing.T) {
	server := strings.Repeat("s", 63)
	names := rapid.OneOf(
		rapid.StringMatching(`[a-c_]{0,6}`), rapid.StringMatching(`[aA_.-]{0,5}`), rapid.StringMatching(`[a-f]{1,3}[-_][0-9a-f]{8}`),
		rapid.StringMatching(`[a-z_]{180,260}`), rapid.StringMatching(`[A-Za-z0-9_.-]{1,128}`), rapid.String(),
	)
	rapid.Check(t, func(t *rapid.T) {
		a, b := names.Draw(t, "a"), names.Draw(t, "b")
		if rapid.Bool().Draw(t, "adversarial") { // a plain name that imitates a hashed one
			b = strings.ReplaceAll(strings.TrimPrefix(ObjectName("", a), "."), "-", "_")
		}
		x, y := ObjectName(server, a), ObjectName(server, b)
		if !isSubdomain(x) || !isSubdomain(y) {
			t.Errorf("%q and %q give %q and %q, want DNS subdomains", a, b, x, y)
		}
		if (a == b) != (x == y) {
			t.Errorf("%q and %q give %q and %q", a, b, x, y)
		}
	})
}

func TestValidName(t *testing.T) {
	for name, want := range map[string]bool{
		"a": true, "A-z_0.9": true, strings.Repeat("x", 128): true,
		"": false, strings.Repeat("x", 129): false, "a b": false, "a/b": false, "é": false, "a\n": false, "\u212a": false,
	} {
		if got := ValidName(name); got != want {
			t.Errorf("ValidName(%q) = %t, want %t", name, got, want)
		}
	}
}

func TestCollisionsAndDuplicates(t *testing.T) {
	names := []string{"read", "Read", "write", "READ", "ls", "ls", "to\u212aen", "token", "write"}
	wantCollisions := map[string][]string{"read": {"READ", "Read", "read"}, "token": {"token", "to\u212aen"}}
	if diff := cmp.Diff(wantCollisions, Collisions(names)); diff != "" {
		t.Errorf("Collisions: -want +got\n%s", diff)
	}
	if diff := cmp.Diff([]string{"ls", "write"}, Duplicates(names)); diff != "" {
		t.Errorf("Duplicates: -want +got\n%s", diff)
	}
	if got := Duplicates([]string{"a", "a", "a"}); len(got) != 1 {
		t.Errorf("Duplicates of three = %v, want one name", got)
	}
	if got := Collisions([]string{"a", "a", "b"}); len(got) != 0 {
		t.Errorf("Collisions of equal names = %v, want none", got)
	}
}

func TestSecondObjectName(t *testing.T) {
	for tool, want := range map[string]string{
		"getUser":                 "srv.getuser-e28ebfde-fb8e7808",
		strings.Repeat("A.", 200): "",
	} {
		got := SecondObjectName("srv", tool)
		if !isSubdomain(got) || got == ObjectName("srv", tool) || !strings.HasPrefix(got, "srv.") {
			t.Errorf("%s is named %s", tool, got)
		}
		if want != "" && got != want {
			t.Errorf("%s is named %s, want %s", tool, got, want)
		}
	}
}
