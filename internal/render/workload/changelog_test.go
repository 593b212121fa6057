// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package workload_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"testing"

	"toolgate.dev/toolgate/internal/render/rendertest"

	"toolgate.dev/toolgate/internal/render/workload"
)

// toldOf is the line of CHANGELOG.md with the fingerprint of the pod templates that it tells of; the first is the newest.
var toldOf = regexp.MustCompile("(?m)^Pod templates: `([0-9a-f]{12})`$")

// TestTheChangelogNamesThePodsThatAreReplaced: whoever installs a release reads there whose pods it restarts, beside what the image of the
// dispatcher does. No change of what is rendered goes in without a look at that list.
func TestTheChangelogNamesThePodsThatAreReplaced(t *testing.T) {
	servers := rendertest.Servers()
	var all []byte
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		d := rendertest.Must(workload.Deployment(servers[name], platform, workload.Live{StateKey: "key", References: "content"}))
		template, err := json.Marshal(d.Spec.Template)
		if err != nil {
			t.Fatal(err)
		}
		all = fmt.Appendf(all, "%s %s\n", name, template)
	}
	sum := sha256.Sum256(all)
	rendered := hex.EncodeToString(sum[:])[:12]
	changelog, err := os.ReadFile("../../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	told := toldOf.FindSubmatch(changelog)
	if told == nil || string(told[1]) != rendered {
		t.Errorf("pods are made in another way than CHANGELOG.md tells of (%q): in its section Unreleased, write below \"### Pods that are replaced\" whose "+
			"pods that replaces and why (nobody's, where only a server of these tests is another), and then at the end of that list this line:\n\n"+
			"Pod templates: `%s`\n", told, rendered)
	}
}
