// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"toolgate.dev/toolgate/internal/testutil/fakecluster"
)

var _ = Describe("Many tools of one server", func() {
	// discover gives what discovering a server's tools took: writes of tools, and all other writes.
	discover := func(w *world, server string, n int) (tools, others int) {
		GinkgoHelper()
		w.create(w.server(server))
		w.settle()
		definitions := make([]string, n)
		for i := range definitions {
			definitions[i] = fakecluster.Definition(fmt.Sprintf("tool_%04d", i), fakecluster.ReadOnly)
		}
		before := w.writes.count()
		w.settleEnforced(w.runPod(server, definitions...))
		for _, write := range w.writes.since(before) {
			if strings.Contains(write, "/mcptools/") {
				tools++
			} else {
				others++
			}
		}
		return tools, others
	}

	It("take two writes each, and nothing else more than a few take", func() {
		w := newWorld()
		few, aside := discover(w, "few", 20)
		many, asideOfMany := discover(w, "many", 160)
		Expect(few).To(Equal(2*20), "each is made, and its status written")
		Expect(many).To(Equal(2 * 160))
		// A status or the index may be written in two steps, by who comes first; never for each tool.
		Expect(asideOfMany).To(BeNumerically("~", aside, 4), "documents, statuses and the index are written for all tools together")
	})

	It("take no write when they are looked at again", func() {
		w := newWorld()
		discover(w, "files", 60)
		before := w.writes.count()
		w.restart()
		w.settle()
		Expect(w.writes.since(before)).To(BeEmpty())
	})
})
