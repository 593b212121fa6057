// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package decide_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"toolgate.dev/toolgate/controllers/decide"
	"toolgate.dev/toolgate/controllers/waves"
)

func TestRefusalsAreJoined(t *testing.T) {
	none := decide.Refusal{}
	a, b := decide.Refusal{Reason: "NameConflict", Message: "a"}, decide.Refusal{Reason: "ApplyFailed", Message: "b"}
	for name, tc := range map[string]struct{ first, second, want decide.Refusal }{
		"neither":       {none, none, none},
		"the first":     {a, none, a},
		"the second":    {none, b, b},
		"both":          {a, b, decide.Refusal{Reason: "NameConflict", Message: "a; b"}},
		"the same once": {a, a, a},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.first.And(tc.second)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestEachConditionSaysWhatWasRefusedOfIt(t *testing.T) {
	refused, document := decide.Refusal{Reason: "NameConflict", Message: "Service files"}, decide.Refusal{Reason: "ApplyFailed", Message: "no quota"}
	status := decide.Server(decide.ServerInput{
		Server: server(), Now: now, Revision: "r1", Deployment: &appsv1.Deployment{}, Upgrade: waves.Refused,
		Refused: refused, Held: document, DocumentError: document,
	})
	for kind, want := range map[string]string{
		"Accepted": "Service files; no quota",
		"Upgraded": "its pods can't be those of the release that runs, and no other server is upgraded until they can: ApplyFailed: no quota",
		"Enforced": "no quota",
	} {
		if diff := cmp.Diff(want, meta.FindStatusCondition(status.Conditions, kind).Message); diff != "" {
			t.Errorf("%s (-want +got)\n%s", kind, diff)
		}
	}
}
