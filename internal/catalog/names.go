// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"

	"toolgate.dev/toolgate/internal/jsonrpc"
)

// maxToolPart keeps an object name within the 253 bytes of a DNS subdomain: a server's name has at most 63, and a dot
// follows it.
const maxToolPart = 189

var (
	validName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)

	// plainName is a name whose object name says all of it: with _ written - it is a DNS label or longer, and no other
	// plain name is written the same.
	plainName = regexp.MustCompile(`^[a-z0-9]([a-z0-9_]*[a-z0-9])?$`)

	// hashedEnd is how the object name of any other name ends; a plain name that ends so is not taken as plain.
	hashedEnd = regexp.MustCompile(`_[0-9a-f]{8}$`)
)

// ValidName reports whether a tool's name is as MCP asks: 1 to 128 characters out of A-Z a-z 0-9 _ . -
func ValidName(tool string) bool {
	return validName.MatchString(tool)
}

// ObjectName returns the name of the MCPTool object of a tool: <server>.<tool part>, a DNS-1123 subdomain of at most 253
// bytes if server is a DNS-1035 label. The tool part depends on the tool's true name alone. A name of lower-case letters,
// digits and underscores is written with - for _. Any other name is written in lower case, with one - for each run of other
// characters, followed by - and the first 8 hexadecimal digits of the SHA-256 of the true name; so is a name that would
// begin or end with -, one too long, and one that ends as if it had such digits: no plain name is taken for a hashed one.
// Two names share an object name only if 32 bits of their hashes collide, so an object's true name must still be compared.
func ObjectName(server, tool string) string {
	if plainName.MatchString(tool) && !hashedEnd.MatchString(tool) && len(tool) <= maxToolPart {
		return server + "." + strings.ReplaceAll(tool, "_", "-")
	}
	return hashedName(server, tool, 1)
}

// SecondObjectName is the name of the MCPTool object of a tool whose own is held by another: 32 bits more of its hash.
func SecondObjectName(server, tool string) string { return hashedName(server, tool, 2) }

// hashedName ends with that many times 8 digits of the hash of the name.
func hashedName(server, tool string, words int) string {
	sum := sha256.Sum256([]byte(tool))
	suffix := ""
	for i := range words {
		suffix += "-" + hex.EncodeToString(sum[4*i:4*i+4])
	}
	readable := dnsForm(tool)
	if limit := maxToolPart - len(suffix); len(readable) > limit {
		readable = strings.TrimRight(readable[:limit], "-")
	}
	return server + "." + readable + suffix
}

// dnsForm returns what of a name fits a DNS label, or "tool" if nothing does.
func dnsForm(name string) string {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return (r < 'a' || 'z' < r) && (r < '0' || '9' < r)
	})
	if len(words) == 0 {
		return "tool"
	}
	return strings.Join(words, "-")
}

// Collisions returns the groups of two or more distinct names that a reader that ignores case would confuse, sorted, each
// under the fold of its names. Names that are equal byte for byte are one name here; see Duplicates.
func Collisions(names []string) map[string][]string {
	groups := make(map[string][]string)
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		fold := jsonrpc.Fold(name)
		groups[fold] = append(groups[fold], name)
	}
	for fold, group := range groups {
		if len(group) < 2 {
			delete(groups, fold)
		}
	}
	return groups
}

// Duplicates returns the names that occur more than once, sorted, each once.
func Duplicates(names []string) []string {
	var twice []string
	sorted := slices.Sorted(slices.Values(names))
	for i := 1; i < len(sorted); i++ {
		if sorted[i] == sorted[i-1] {
			twice = append(twice, sorted[i])
		}
	}
	return slices.Compact(twice)
}
