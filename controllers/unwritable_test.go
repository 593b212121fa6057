// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// What a tool's definition may hold, and what becomes of its schema in status. What the strict reader refuses (keys that stand
// twice, text that is no Unicode) has no name, and so no object.
var unusual = []struct{ name, members, schema string }{
	{"number_beyond_floats", `"inputSchema":{"type":"object","properties":{"n":{"maximum":1e350}}}`, "omitted"},
	{"number_below_them", `"inputSchema":{"type":"object","properties":{"n":{"minimum":-1e400}}}`, "omitted"},
	{"many_digits", `"inputSchema":{"type":"object","properties":{"n":{"maximum":1` + strings.Repeat("0", 309) + `}}}`, "omitted"},
	{"exponent_of_the_catalog", `"inputSchema":{"type":"object","properties":{"n":{"default":1e1000000}}}`, "omitted"},
	{"near_nothing", `"inputSchema":{"type":"object","properties":{"n":{"multipleOf":1e-390}}}`, "shown"},
	{"beyond_int64", `"inputSchema":{"type":"object","properties":{"n":{"maximum":99999999999999999999999}}}`, "shown"},
	{"beyond_2_to_53", `"inputSchema":{"type":"object","properties":{"n":{"maximum":9007199254740993,"minimum":-9223372036854775809}}}`, "shown"},
	{"fraction_of_2_to_53", `"inputSchema":{"type":"object","properties":{"n":{"maximum":9007199254740993.0}}}`, "shown"},
	{"minus_zero", `"inputSchema":{"type":"object","properties":{"n":{"minimum":-0,"maximum":-0.0,"default":0e9}}}`, "shown"},
	{"nothing", `"inputSchema":{"type":"object","properties":{"n":{"default":null,"enum":[null]}}}`, "shown"},
	{"nul", `"title":"a\u0000b","description":"\u0000","inputSchema":{"type":"object","title":"a\u0000b","properties":{"n":{"pattern":"\u0000"}}}`, "shown"},
	{"controls", `"title":"\u001b[2J\u007f\u0085","description":"\ufffe\uffff","inputSchema":{"type":"object","description":"\u2028\ud83d\ude00"}`, "shown"},
	{"deep", `"inputSchema":{"type":"object","not":` + strings.Repeat(`{"not":`, 120) + `{}` + strings.Repeat(`}`, 120) + `}`, "shown"},
	{"odd_keys", `"inputSchema":{"type":"object","properties":{"":{},"f:a":{},".":{},"metadata":{"name":1},"apiVersion":{},"kind":{},"__proto__":{}}}`, "shown"},
	{"of_an_object", `"inputSchema":{"type":"object","apiVersion":1,"kind":{},"metadata":[]}`, "shown"},
}

var _ = Describe("What servers write in definitions", func() {
	It("is told of every tool as far as the API server can store it, and then written no more", func() {
		w := newWorld()
		definitions := []string{readFile}
		for _, u := range unusual {
			definitions = append(definitions, fmt.Sprintf(`{"name":%q,%s}`, u.name, u.members))
		}
		pod := w.listing("", definitions...)
		for _, u := range unusual {
			t := w.getTool("files." + strings.ReplaceAll(u.name, "_", "-"))
			Expect(t.Status.Observed).NotTo(BeNil(), u.name)
			Expect(t.Status.Observed.InputSchema != nil).To(Equal(u.schema == "shown"), u.name)
			if u.schema == "omitted" {
				Expect(t.Status.Observed.SchemaOmitted).NotTo(BeEmpty(), u.name)
			} else {
				Expect(t.Status.Observed.SchemaOmitted).To(BeEmpty(), u.name)
			}
		}
		Expect(condition(w.getServer("files").Status.Conditions, "Ready")).To(Equal("True/Ready"))

		By("a manager that begins anew")
		w.restart()
		rest := w.writes.count()
		w.settleEnforced(pod)
		Expect(w.writes.since(rest)).To(BeEmpty())
	})
})
